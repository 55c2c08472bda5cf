//! Texts that copying has changed: each sample must be read as before, or be rejected with an explanation.

use std::path::Path;

use answers::dump::{Dump, Frame, LockGraph, ThreadForm};

use super::{data, page};

fn text(name: &str) -> String {
    std::fs::read_to_string(data(name)).unwrap()
}

fn read(bytes: &[u8]) -> Dump {
    Dump::read(Path::new("x"), bytes).unwrap_or_else(|e| panic!("{e}:\n{}", String::from_utf8_lossy(bytes)))
}

/// What must be preserved: the threads with their frames and locks, and the deadlocks.
fn seen(dump: &Dump) -> Vec<(String, Option<String>, Vec<String>, usize)> {
    let threads = dump.sections.iter().flat_map(|section| &section.threads);
    threads
        .map(|t| (t.title(), t.state.clone(), t.frames.iter().map(Frame::to_string).collect(), t.locks.len()))
        .collect()
}

fn assert_same(changed: &[u8], original: &str, how: &str) {
    let (changed, original) = (read(changed), read(original.as_bytes()));
    assert_eq!(seen(&changed), seen(&original), "{how}");
    assert_eq!(
        changed.subject.as_ref().map(|subject| &subject.text),
        original.subject.as_ref().map(|subject| &subject.text),
        "{how}"
    );
    let deadlocks =
        |dump: &Dump| dump.sections.iter().map(|s| LockGraph::from(s).deadlocks).collect::<Vec<_>>();
    assert_eq!(deadlocks(&changed), deadlocks(&original), "{how}");
}

const SAMPLES: [&str; 4] =
    ["art14-deadlock.txt", "play-console.txt", "hotspot-17-kill-3.txt", "art8-holder-not-named.txt"];

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[test]
fn a_page_of_html_is_read() {
    for name in SAMPLES {
        let text = text(name);
        let pre = format!("<!DOCTYPE html><html><body><pre>{}</pre></body></html>\n", escaped(&text));
        assert_same(pre.as_bytes(), &text, name);
        let breaks = escaped(&text).replace('\n', "<br/>\n");
        assert_same(breaks.as_bytes(), &text, name);
        let spans: String =
            text.lines().map(|line| format!("<div><span>{}</span></div>\n", escaped(line))).collect();
        // A browser shows an empty line as nothing, which ends a thread all the same.
        let dump = read(spans.as_bytes());
        assert_eq!(seen(&dump).len(), seen(&read(text.as_bytes())).len(), "{name}");
        // Only tags; the address in angle brackets is not one.
        let bare = text.replace('\n', "<br>\n");
        assert_same(bare.as_bytes(), &text, name);
    }
}

#[test]
fn a_text_that_lost_its_line_ends_is_read() {
    for name in ["art14-deadlock.txt", "play-console.txt"] {
        let text = text(name);
        let joined = text.lines().collect::<Vec<_>>().join(" ");
        let (dump, original) = (read(joined.as_bytes()), read(text.as_bytes()));
        let main = |dump: &Dump| {
            let main = dump.answer().and_then(|section| section.main()).unwrap().clone();
            (main.title(), main.frames.len(), main.locks.len())
        };
        assert_eq!(main(&dump), main(&original), "{name}");
        let deadlocks = |dump: &Dump| dump.answer().map(|section| LockGraph::from(section).deadlocks);
        assert_eq!(deadlocks(&dump), deadlocks(&original), "{name}");
        assert!(dump.warnings.iter().any(|warning| warning.contains("copying changed this text")));
    }
}

#[test]
fn escapes_and_utf_16_are_undone() {
    for name in SAMPLES {
        let text = text(name);
        let json = serde_json::to_string(&serde_json::json!({"stack": text})).unwrap();
        let dump = read(json.as_bytes());
        assert!(seen(&dump).len() + 1 >= seen(&read(text.as_bytes())).len(), "{name}");
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(order).collect();
            assert_same(&bytes, &text, name);
            let marked: Vec<u8> = "\u{feff}".encode_utf16().flat_map(order).chain(bytes).collect();
            assert_same(&marked, &text, name);
        }
    }
}

#[test]
fn stacks_without_threads_are_shown_as_mains() {
    let sentry = "ApplicationNotResponding: Application Not Responding for at least 5000 ms.\n    at android.os.BinderProxy.transactNative(BinderProxy.java)\n    \
                  at com.acme.shop.Versions.check(Versions.kt:44)\n    at android.os.Looper.loop(Looper.java:294)\n\nOkHttp\n    at a.b.C.d(C.java:1)\n";
    let dump = read(sentry.as_bytes());
    let threads = &dump.sections[0].threads;
    assert!(threads.iter().all(|thread| thread.form == ThreadForm::Stack));
    assert_eq!((threads.len(), threads[0].frames.len(), threads[1].name.as_deref()), (2, 3, Some("OkHttp")));
    let page = page(&dump);
    assert!(
        page.contains("MAIN a stack without a thread") && page.contains("Versions.check(Versions.kt:44)"),
        "{page}"
    );
    assert!(page.contains("waits for another process to answer a binder call"), "{page}");
    assert!(page.contains("(ApplicationNotResponding: "), "{page}");
    assert!(
        dump.warnings.iter().any(|warning| warning.contains("the first is shown as main's")),
        "{:?}",
        dump.warnings
    );
    // A text with threads is read by these alone.
    let both = format!("{sentry}\n\"main\" prio=5 tid=1 Native\n  at a.B.c(D.java:1)\n");
    assert_eq!(read(both.as_bytes()).sections[0].threads.len(), 1);
}

#[test]
fn what_cannot_be_restored_is_refused_and_never_empty() {
    for (text, reason) in [
        (
            "Subject: Input dispatching timed out (a.b/a.b.C is not responding)\nnothing else\n",
            "the subject of an ANR and no thread",
        ),
        (
            "<html><body>Subject: Broadcast of Intent { act=x }<br/></body></html>",
            "the subject of an ANR and no thread",
        ),
        ("ANRSCOPE\u{1}\u{2}", "it is a recording"),
        ("<p>Hello</p>", "none of its lines belongs to a dump"),
        ("{\"threadDump\": {\"threadContainers\": []}}", "it has no thread"),
        ("{\"threadDump\": {\"thr", "jcmd PID Thread.dump_to_file"),
    ] {
        let error = Dump::read(Path::new("x"), text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    let bare = read(b"\"main\" prio=5 tid=1 Native\n\n\"b\" prio=5 tid=2 Native\n");
    assert!(
        bare.warnings.iter().any(|warning| warning.contains("no thread has a stack")),
        "{:?}",
        bare.warnings
    );
}
