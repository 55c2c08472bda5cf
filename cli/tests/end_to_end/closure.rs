//! A real program: the Closure Compiler compiling a small part of lodash.

use std::process::Command;

use trace_format::Event;

use crate::end_to_end::{events, number, recording, test_data};
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

#[test]
fn the_closure_compiler_gives_the_same_output_and_a_whole_trace() {
    let directory = TempDir::new();
    let jar = test_data("closure/package/compiler.jar");
    let source = test_data("lodash/package/core.js");
    let arguments = |output: &str| {
        [
            "-Xverify:all",
            "-jar",
            jar.to_str().unwrap(),
            "--js",
            source.to_str().unwrap(),
            "--js_output_file",
            output,
        ]
        .map(str::to_owned)
    };
    let (plain, traced) = (directory.name("plain.js"), directory.name("traced.js"));
    let without = Command::new("java").args(arguments(&plain)).output().unwrap();
    let (trace, kept) = (directory.name("closure.pftrace"), directory.name("kept"));
    let mut ours = program::command();
    ours.args(["jvm", "--no-waits", "--quiet", "--out", &trace, "--keep", &kept, "--"])
        .args(arguments(&traced));
    let with = ours.output().unwrap();
    assert_eq!(
        (with.status.code(), String::from_utf8_lossy(&with.stdout), String::from_utf8_lossy(&with.stderr)),
        (
            without.status.code(),
            String::from_utf8_lossy(&without.stdout),
            String::from_utf8_lossy(&without.stderr)
        )
    );
    assert!(std::fs::read(&plain).unwrap() == std::fs::read(&traced).unwrap(), "the outputs differ");

    let recording = recording(kept.as_ref());
    assert_eq!(recording.faults(), (&[][..], 0));
    let mut enters = 0_u64;
    for thread in recording.threads() {
        assert_eq!(thread.overwritten(), 0, "the whole run is there: {thread:?}");
        let mut stack: Vec<u32> = Vec::new();
        for (_, event) in events(&recording, thread) {
            match event {
                Event::Enter(id) => {
                    enters += 1;
                    stack.push(id);
                }
                Event::Exit(id) => {
                    // A call that was open when its method was switched off has no exit.
                    // One that began while it was off has no enter.
                    if let Some(entered) = stack.iter().rposition(|open| *open == id) {
                        stack.truncate(entered);
                    }
                }
                Event::Time(_) | Event::OpenCalls(_) | Event::Folded(_) => {}
                other => panic!("{other:?} from a program without a looper"),
            }
        }
    }

    let answer = engine::ask(
        trace.as_ref(),
        &[
            // Main's states are on a track of their own, and an instant stands for each dump of main.
            "select count(*) as n from slice join thread_track on slice.track_id = thread_track.id where thread_track.type = 'thread_execution' and slice.name not like 'dump: %'",
            "select count(*) as n from slice where name is null or name like 'method %' or dur < 0",
            "select count(*) as n from slice where extract_arg(arg_set_id, 'debug.began_before') = 1",
        ],
    );
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    let slices = number(&answer.queries[0][0], "n");
    assert!(slices > 2_000, "{slices}");
    assert_eq!(slices, enters, "a slice for each enter in the recording");
    assert_eq!(number(&answer.queries[2][0], "n"), 0, "the whole run is there");
    assert_eq!(number(&answer.queries[1][0], "n"), 0);
}
