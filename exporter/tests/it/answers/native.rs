//! Recordings with native stacks: each answer is the labelled one, and says what `tests/data/answers/native.txt` says.

use std::path::Path;

use exporter::Report;
use serde_json::{Value, json};

use crate::answers::truth::Outcome;
use crate::answers::{Judged, Of, found, truth};
use test_support::scenario::{self, Case};

const CASES: &str = include_str!("../../data/answers/native.txt");

fn report(name: &str) -> Report {
    let cases = scenario::cases(CASES).0;
    let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
    let (recording, map) = scenario::recording(case);
    Report::build(Path::new("recording"), &recording, &map).unwrap()
}

fn names(stack: &Value) -> Vec<&str> {
    stack.as_array().unwrap().iter().map(|frame| frame["name"].as_str().unwrap()).collect()
}

#[test]
fn every_labelled_answer_is_right() {
    let cases = scenario::cases(CASES).0;
    assert!(cases.len() >= 12);
    let judge = |case: &Case| {
        let (recording, map) = scenario::recording(case);
        Judged::new(Of::Recording, &case.name, truth(case), found::of_recording(&recording, &map))
    };
    let wrong: Vec<String> = cases
        .iter()
        .map(judge)
        .filter(|case| case.outcome != Outcome::Right)
        .map(|case| format!("{}: labelled {}, answered {:#}", case.name, case.truth, case.answer))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_finding_names_the_function_and_the_native_method_above_it() {
    let answer = report("image-codec-under-a-jni-call").answer;
    assert_eq!(
        answer.finding(),
        "main was in SkImage::decode(SkData*) (libskia.so) under com.acme.Codec.nativeDecode for 6.100 s: 2 of 2 native stacks"
    );
    let answer = answer.to_json();
    assert_eq!(answer["samples"], 2);
    assert_eq!(
        names(&answer["stack"]),
        [
            "SkImage::decode(SkData*)",
            "Java_com_acme_Codec_nativeDecode",
            "com.acme.Codec.nativeDecode",
            "com.acme.Gallery.load"
        ]
    );
    let native = &answer["stack"][0]["native"];
    let wanted =
        json!({"library": "libskia.so", "build_id": "abcdef012345", "rel_pc": "0x1000", "inlined": false});
    assert_eq!((native, &answer["stack"][3]["native"]), (&wanted, &Value::Null));
}

#[test]
fn a_deadlock_of_mutexes_names_both_owners() {
    let report = report("two-threads-own-each-others-mutexes");
    let page = report.to_string();
    for text in
        ["Cause: DEADLOCK (high", "\"main\" waits for \"Physics\" waits for \"main\"", "\"Physics\" (tid 43)"]
    {
        assert!(page.contains(text), "no {text} in\n{page}");
    }
    let verbose = report.verbose().to_string();
    for text in
        ["in futex (waits for a mutex owned by tid 43)", "in futex (waits for a mutex owned by tid 42)"]
    {
        assert!(verbose.contains(text), "no {text} in\n{verbose}");
    }
}

#[test]
fn a_missed_heartbeat_says_which_thread_stalled_for_how_long_and_in_what() {
    let report = report("a-dart-thread-that-missed-its-heartbeat");
    let page = report.to_string();
    assert!(
        page.starts_with("Hang in com.acme (pid 42): thread \"1.ui\" blocked for at least 1.5 s"),
        "{page}"
    );
    assert!(page.contains("Parser.parse"), "{page}");
    let json = report.to_json("r");
    let missed = json!([{"thread": "1.ui", "tid": 43, "since_ns": 104_000_000_000u64, "until_ns": 105_500_000_000u64,
        "finding": "\"1.ui\" was in Parser.parse (libapp.so) for at least 1.500 s: 2 of 2 native stacks"}]);
    assert_eq!(json["missed_heartbeats"], missed);
    assert_eq!(json["native_stacks"][0]["reason"], "missed-heartbeat");
    assert_eq!(
        names(&json["native_stacks"][0]["frames"]),
        ["Parser.parse", "Feed.load", "dart::DartEntry::InvokeCode"]
    );
}

#[test]
fn a_stack_that_is_cut_says_why() {
    let page = report("a-stack-cut-without-symbols").verbose().to_string();
    assert!(page.contains("(the stack ends here: no file for build id abcdef012345)"), "{page}");
    let unnamed = "2 native frames have no function's name: pass --symbols with a directory that has the unstripped \
                   libgame.so (build id abcdef012345)";
    assert_eq!(page.contains(unnamed), exporter::native::HAS_UNWINDING, "{page}");
}
