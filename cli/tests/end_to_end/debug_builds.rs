//! `anrscope-debug.aar` on fakes of Android's classes, with the recorder and the exporter that ship: a stall of main becomes a
//! notification, a page and a trace.

use std::fs;
use std::path::Path;

use exporter::MethodMap;
use serde_json::Value;

use crate::end_to_end::export_in_app::exporter;
use crate::end_to_end::life::library;
use crate::end_to_end::number;
use test_support::android::lifetime::app_recordings;
use test_support::android::{Case, Run, classes};
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

/// The case, and what its page and trace are written to.
fn case(directory: &TempDir, library: &Path, script: &str) -> Case {
    let out = directory.name("out");
    fs::create_dir_all(&out).unwrap();
    let case = Case::new("AppStalls").named(script).library(library).sdk(34);
    case.property(&format!("anrscope.export.lib={}", exporter().display()))
        .property("anrscope.debug.interval=3000")
        .word(script)
        .word(&out)
}

#[track_caller]
fn only<'a>(run: &'a Run, what: &'a str) -> &'a str {
    let lines: Vec<_> = run.lines(what).collect();
    assert_eq!(lines.len(), 1, "{what}: {}", run.printed);
    lines[0]
}

/// The seconds of `Main was blocked for 1.3 s...`.
#[track_caller]
fn blocked(sentence: &str) -> f64 {
    let (_, rest) = sentence.split_once(" blocked for ").expect(sentence);
    rest.split(' ').next().unwrap().parse().expect(sentence)
}

#[test]
fn a_stall_is_a_notification_whose_page_and_trace_explain_it() {
    let directory = TempDir::new();
    let library = library(&directory);
    // The app's build is instrumented; its map is among the assets.
    let app = directory.name("app/com/example/stall");
    fs::create_dir_all(&app).unwrap();
    for class in fs::read_dir(classes().join("com/example/stall")).unwrap() {
        let class = class.unwrap();
        fs::copy(class.path(), Path::new(&app).join(class.file_name())).unwrap();
    }
    let (traced, out) = (directory.name("traced"), directory.name("out"));
    fs::create_dir_all(&out).unwrap();
    let map = format!("{out}/map.txt");
    let shown = program::run([
        "instrument",
        "--quiet",
        "--waits",
        &directory.name("app"),
        "--out",
        &traced,
        "--method-map",
        &map,
    ]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let id = MethodMap::id_of(Path::new(&map)).unwrap();
    let case = case(&directory, &library, "lock").property(&format!("anrscope.mapId={id}"));
    let run = case.classes(Path::new(&traced)).run();

    assert_eq!(only(&run, "lock posted"), "1 shown 1");
    let (sentence, more) = only(&run, "lock notification").split_once('|').unwrap();
    let reason = sentence.strip_prefix("Main was blocked for ").expect(sentence);
    assert!(
        reason.ends_with(" s: PriceStore.priceOf waits for a lock held by SyncWorker"),
        "{sentence}\n{}",
        run.printed
    );
    assert!((1.2..3.0).contains(&blocked(sentence)), "{sentence}");
    assert_eq!(more, "null");
    // The page has the same answer, and can do no more than show it.
    assert_eq!(only(&run, "title"), sentence.split_once(':').unwrap().0);
    assert_eq!(only(&run, "web"), "truefalsefalsefalse");
    let page = fs::read_to_string(format!("{out}/page.html")).unwrap();
    let data = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap().1;
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let answer = &data["report"]["answer"];
    assert_eq!(answer["root"]["name"], "com.example.stall.PriceStore.priceOf", "{answer:#}");
    assert_eq!(answer["owners"][0]["thread"], "SyncWorker", "{answer:#}");
    assert_eq!((data["name"].as_str(), &data["trace"]), (Some(""), &Value::Null));
    // The trace opens, and has the stall with its names.
    let trace = format!("{out}/shared.pftrace");
    let methods = engine::rows(
        Path::new(&trace),
        "select count(*) as n from slice where name = 'com.example.stall.PriceStore.priceOf' and dur > 1200000000",
    );
    assert_eq!(number(&methods[0], "n"), 1, "{methods:?}");
    assert_eq!(only(&run, "shares"), "android.intent.action.SEND granted true");
    assert_eq!(only(&run, "row"), "true true");
    let refused: Vec<_> = run.lines("name").collect();
    assert_eq!(refused.len(), 4);
    assert!(refused.iter().all(|line| line.ends_with(" true")), "{refused:?}");
    assert_eq!((only(&run, "write"), only(&run, "release")), ("true", "true"));
    // The page's own stalls, such as the first start of a WebView, are not the app's.
    assert_eq!(only(&run, "own page posted"), "1 shown 1");
    assert_eq!(only(&run, "on main"), "0");
    assert_eq!(run.lines("log").next(), None, "{}", run.printed);
}

#[test]
fn an_anr_is_reported_while_it_lasts_and_the_notification_follows() {
    let directory = TempDir::new();
    let library = library(&directory);
    // Nothing is instrumented: the answer comes from samples of main's stack.
    let case = case(&directory, &library, "anr");
    let own = case.directory();
    let run = case.run();
    let first = only(&run, "during");
    assert!(first.starts_with("Main has been blocked for 5"), "{first}");
    assert_eq!(only(&run, "anr posted"), "2 shown 1");
    let (sentence, _) = only(&run, "anr notification").split_once('|').unwrap();
    assert!(sentence.starts_with("Main was blocked for 6"), "{sentence}");
    assert!(sentence.ends_with(": Thread.sleep in PriceStore.sleep"), "{sentence}");
    // The program has the same answer.
    let recording = app_recordings(&own).remove(0);
    let shown = program::run(["report", "--format", "json", recording.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&shown.stdout).expect(&shown.stdout);
    let report = &report["reports"][0];
    assert_eq!(report["answer"]["root"]["name"], "com.example.stall.PriceStore.sleep");
    let page = program::run(["report", recording.to_str().unwrap()]).stdout;
    assert!(page.contains("\nCause: THREAD.SLEEP "), "{page}");
    let seconds = report["hang"]["duration_ns"].as_f64().unwrap() / 1e9;
    assert!((seconds - blocked(sentence)).abs() < 0.051, "{seconds} {sentence}");
}

#[test]
fn short_stalls_a_debugger_and_the_background_are_no_reason_to_notify() {
    let directory = TempDir::new();
    let library = library(&directory);
    let run = case(&directory, &library, "limits").run();
    assert_eq!(only(&run, "first posted"), "1 shown 1");
    assert_eq!(only(&run, "short posted"), "1 shown 1");
    assert_eq!(only(&run, "debugger posted"), "1 shown 1");
    // Three stalls within the interval: the first of them at once or at its end, the last at the next.
    let several = only(&run, "several posted");
    assert!(["2 shown 1", "3 shown 1"].contains(&several), "{several}");
    let (sentence, count) = run.lines("several notification").last().unwrap().split_once('|').unwrap();
    assert!(sentence.starts_with("Main was blocked for 1.4 s"), "{sentence}");
    assert_eq!(count, "4 stalls in this process");
    assert_eq!(only(&run, "background posted"), several);
}

#[test]
fn without_permission_the_log_and_the_launcher_entry_have_the_answer() {
    let directory = TempDir::new();
    let library = library(&directory);
    let run = case(&directory, &library, "refused").run();
    assert_eq!(only(&run, "refused posted"), "0 shown 0");
    let log = run.lines("log").find(|line| line.contains("Main was blocked")).unwrap();
    assert!(log.starts_with("W/anrscope: Main was blocked for 1."), "{log}");
    assert!(log.ends_with("the launcher entry Stalls shows the answer"), "{log}");
    assert_eq!(only(&run, "off"), "true");
    assert_eq!(only(&run, "settings"), "android.settings.APP_NOTIFICATION_SETTINGS");
    let text = only(&run, "as text");
    for part in ["Thread.sleep in PriceStore.sleep", "|Cause: THREAD.SLEEP", "|What to do: "] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_release_build_and_the_manifest_switch_it_off() {
    let directory = TempDir::new();
    let library = library(&directory);
    let run = case(&directory, &library, "release").run();
    assert_eq!(only(&run, "release posted"), "0 shown 0");
    let log = run.lines("log").next().unwrap();
    assert!(log.contains("anrscope-debug does nothing: this build is not debuggable"), "{log}");
    let run = case(&directory, &library, "off").run();
    assert_eq!(only(&run, "off posted"), "0 shown 0");
}

/// The classes do not use what is newer than the level of the system that they run on.
#[test]
fn it_runs_on_the_oldest_level() {
    let directory = TempDir::new();
    let library = library(&directory);
    let run = case(&directory, &library, "anr").named("anr-21").sdk(21).run();
    assert_eq!(only(&run, "anr posted"), "2 shown 1");
}
