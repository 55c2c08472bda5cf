//! `anrscope dump`, on the samples of the exporter's tests.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use trace_format::synth::RecordingBuilder;

use super::program::{Shown, command, run};
use super::temp_dir::TempDir;

fn sample(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exporter/tests/data/dump");
    data.join(name).to_str().unwrap().to_owned()
}

#[test]
fn the_page_begins_with_the_cause() {
    let page = run(["dump", &sample("art14-deadlock.txt")]).ok(&[]);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{page}"));
    let places =
        ["Subject: ", "MAIN \"main\"", "is owned by", "DEADLOCK of 2 threads", "OTHER THREADS", "HEAD"]
            .map(place);
    assert!(places.is_sorted(), "{page}");
    assert!(!page.contains("SyncService.java"));
}

#[test]
fn json_has_the_documented_form() {
    let files = [sample("art14-deadlock.txt"), sample("art8-holder-not-named.txt")];
    let shown = run(["dump", "--json", &files[0], &files[1]]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("warning: ") && shown.stderr.contains("the text ends within"), "{shown:?}");
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    let sections = json["sections"].as_array().unwrap();
    assert_eq!((sections.len(), json["files"].as_array().unwrap().len()), (4, 2));
    let first = &sections[0];
    assert_eq!((first["pid"].as_u64(), first["cmdline"].as_str()), (Some(4242), Some("com.acme.shop")));
    assert_eq!(first["file"].as_str(), Some(files[0].as_str()));
    let main = &first["threads"][0];
    for (key, expected) in [("name", "\"main\""), ("tid", "1"), ("sys_tid", "4242"), ("state", "\"Blocked\"")]
    {
        assert_eq!(main[key].to_string(), expected, "{key}");
    }
    assert_eq!(first["lock_edges"][0]["from"], 1);
    assert_eq!(first["lock_edges"][0]["to"], 12);
    assert_eq!(first["lock_edges"][0]["lock_class"], "com.acme.shop.PriceStore");
    assert_eq!(first["deadlocks"].to_string(), "[[1,12]]");
    assert_eq!(sections[2]["lock_edges"].to_string(), "[]");
    assert_eq!(sections[2]["inferred_lock_edges"][0]["to"], 9);
    assert_eq!(json["files"][0]["subject"]["kind"], "input_dispatching");
    // One thread of them.
    let one = run(["dump", "--json", &files[0], "--thread", "SyncWorker"]).ok(&[]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["sections"][0]["threads"].as_array().unwrap().len(), 1);
}

#[test]
fn stdin_is_read() {
    let mut child = command()
        .args(["dump", "-", "--thread", "main"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(sample("play-console.txt")).unwrap()).unwrap();
    let page = Shown::from(child.wait_with_output().unwrap()).ok(&[]);
    assert!(
        page.contains("\"main\" (tid 1) is Blocked") && page.contains("is owned by\n\"SyncWorker\""),
        "{page}"
    );
}

#[test]
fn directories_and_bug_reports_are_read_and_grouped() {
    let directory = TempDir::new();
    let main = |method: &str, line: u32| {
        format!(
            "----- pid 7 at 2026-01-0{line} 00:00:00 -----\nCmd line: com.acme\n\n\"main\" prio=5 tid=1 Native\n  at a.B.{method}(B.java:{line})\n\n----- end 7 -----\n"
        )
    };
    directory.file("one.txt", main("often", 1));
    directory.file("two.txt", main("often", 2));
    directory.file("three.txt", main("once", 3));
    directory.file("notes.md", "what a day\n");
    let directory = directory.name("");
    let page = run(["dump", &directory]).ok(&["skipped 1 file: not a thread dump"]);
    assert_eq!(page.matches("MAIN \"main\"").count(), 3, "{page}");
    let page = run(["dump", "--group", &directory]).ok(&["skipped 1 file: not a thread dump"]);
    assert!(page.starts_with("3 texts, 2 groups of equal main stacks\n\n     2  66.7 %  com.acme: main is in native code\n        cause: unknown, in a.B.often (B.java:1)\n        at a.B.often\n"), "{page}");
    assert!(page.contains("newest: ") && page.contains("two.txt (2026-01-02 00:00:00)"), "{page}");
    let shown = run(["dump", "--group", "--json", &directory]);
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((json["texts"].as_u64(), json["others"].as_u64()), (Some(3), Some(1)));
    assert_eq!(json["groups"][0]["count"], 2);
    assert_eq!(json["groups"][1]["stack"][0], "a.B.once");
    let report = sample("../bugreport.zip");
    let page = run(["dump", &report]).ok(&["warning: "]);
    let newest = page.find("FS/data/anr/anr_2026-01-01").unwrap();
    assert!(newest < page.find("FS/data/anr/anr_2025-12-31").unwrap(), "{page}");
    run(["dump", "--group", "--all", &report]).failed(2, &["--all"]);
}

#[test]
fn names_from_before_r8_and_the_mapping_of_another_build() {
    let directory = TempDir::new();
    let mapping = sample("mapping-r8.txt");
    let page = run(["dump", &sample("obfuscated.txt"), "--mapping", &mapping]).ok(&[]);
    assert!(page.contains("at com.acme.shop.Table.find(Table.kt:12)  [inlined]"), "{page}");
    let of = |id: &str| format!("\"main\" prio=5 tid=1 Runnable\n  at a.b.c(r8-map-id-{id}:2)\n");
    let same = directory.file("same.txt", of("5eed5eed0011"));
    assert!(run(["dump", &same, "--mapping", &mapping]).ok(&[]).contains("PriceStore.cached(Prices.kt:31)"));
    let other = directory.file("other.txt", of("0bad0bad"));
    let page = run(["dump", &other, "--mapping", &mapping]).ok(&["warning: ", "0bad0bad", "was ignored"]);
    assert!(page.contains("at a.b.c("), "{page}");
}

#[test]
fn files_that_are_not_dumps_or_mappings_are_errors() {
    let directory = TempDir::new();
    let dump = sample("art14-deadlock.txt");
    let text = directory.file("text.txt", "\nwhat a day\n");
    let (empty, missing, itself) =
        (directory.file("empty.txt", ""), directory.name("missing.txt"), directory.name("."));
    for (input, place) in
        [(&text, "offset 1"), (&empty, "is empty"), (&missing, "No such file"), (&itself, "directory")]
    {
        run(["dump", input]).failed(1, &[input, place]);
        // The other dump is not shown either.
        run(["dump", &dump, input]).failed(1, &[input, place]);
    }
    run(["dump", &dump, "--mapping", &text]).failed(1, &[&format!("{text}:2"), "mapping.txt"]);
    run(["dump", &dump, "--mapping", &missing]).failed(1, &[&missing, "No such file"]);
    run(["dump", &dump, "--thread", "nosuch"]).failed(1, &["\"nosuch\""]);
}

#[test]
fn reports_and_traces_take_the_mapping_too() {
    let directory = TempDir::new();
    let bytes = RecordingBuilder::new(42, "com.example")
        .main("main", |t| {
            t.enter(2_000, 1);
        })
        .build();
    let input = directory.file("app.anrscope", bytes);
    directory.file("methodMapping.txt", "1,1,a.b g (I)V\n");
    let (mapping, out) = (sample("mapping-r8.txt"), directory.name("t.pftrace"));
    run(["export", &input, "-o", &out, "--level", "0", "--mapping", &mapping]).ok(&["1 slice"]);
    let trace = String::from_utf8_lossy(&std::fs::read(&out).unwrap()).into_owned();
    assert!(trace.contains("com.acme.shop.PriceStore.second") && !trace.contains("a.b.g"));
    run(["report", &input, "--mapping", &out]).failed(1, &[&out]);
}
