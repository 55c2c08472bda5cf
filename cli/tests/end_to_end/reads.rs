//! JVM programs whose main thread waits in a call that may read from anything: the report names the call, and what it reads from.

use serde_json::Value;

use crate::end_to_end::{compile, recordings, text};
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

/// A run of `Reads` with this argument, which waits in `readLine` for `cause`.
fn main_reads(argument: &str, cause: &str) {
    let directory = TempDir::new();
    compile("Reads", directory.path());
    let (trace, kept) = (directory.name("trace.pftrace"), directory.name("kept"));
    let own = ["jvm", "--quiet", "--out", &trace, "--keep", &kept, "--", "-Xverify:all", "-cp"];
    let shown = program::run(own.into_iter().chain([&*directory.name(""), "Reads", argument]));
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), "null\n"), "{shown:?}");

    let recording = recordings(kept.as_ref()).pop().expect("a recording");
    let recording = recording.to_str().unwrap();
    let json = program::run(["report", recording, "--format", "json"]).ok(&[]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let report = &report["reports"][0];
    let wait = &report["hang"]["wait"];
    assert_eq!(
        (&wait["kind"], &wait["class"], &wait["call"]),
        (&"blocking".into(), &"java.io.BufferedReader".into(), &"java.io.BufferedReader.readLine".into()),
        "{report}"
    );
    assert_eq!(report["answer"]["cause"]["id"], cause, "{report}");
    let page = program::run(["report", recording]).ok(&[]);
    assert!(page.contains("is in java.io.BufferedReader.readLine\n"), "{page}");
    let slices = engine::rows(trace.as_ref(), "select name from slice where name like '%readLine'");
    assert_eq!(
        slices.iter().map(|row| text(row, "name")).collect::<Vec<_>>(),
        ["java.io.BufferedReader.readLine"]
    );
}

#[test]
fn lines_of_a_connection_are_network_io() {
    main_reads("connection", "network-io");
}

#[test]
fn lines_of_another_program_are_a_wait_for_it() {
    main_reads("program", "process-wait");
}
