//! The forms of the class that instrumented code calls have the same members: the recorder's, the aar's without a recorder, and those of tests.

use std::collections::BTreeSet;
use std::path::Path;

/// The recorder's own form.
const METHOD_BEAT: &str = "android/method-beat/dev/anrscope/MethodBeat.java";
const NO_OP: &str = "android/aar/no-op/java/dev/anrscope/MethodBeat.java";
const OF_TESTS: &str = "instrumenter/tests/java/dev/anrscope/MethodBeat.java";
const COUNTING: &str = "instrumenter/proof/CountingMethodBeat.java";

fn text(source: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(source)).unwrap()
}

/// The methods of a class that instrumented code calls: their names have one or two letters.
fn called(source: &str) -> BTreeSet<String> {
    let text = text(source);
    let names =
        text.lines().filter_map(|line| line.trim().strip_prefix("public static void ")?.split_once('('));
    names.map(|(name, _)| name.to_owned()).filter(|name| name.len() <= 2).collect()
}

#[test]
fn every_form_of_the_class_has_the_methods_that_instrumented_code_calls() {
    let methods = called(METHOD_BEAT);
    let expected = ["at", "c", "i", "o", "wb", "we", "wr", "wt"];
    assert_eq!(methods, expected.map(str::to_owned).into());
    for other in [NO_OP, OF_TESTS] {
        assert_eq!(called(other), methods, "{other}");
    }
    // The proof runs programs without activities.
    let mut counted = called(COUNTING);
    counted.insert("at".to_owned());
    assert_eq!(counted, methods);
}

/// A handler stores there where a call has overflowed the stack: without the fields the program would get an error that is not its own.
#[test]
fn a_handler_of_instrumented_code_finds_the_fields_that_it_stores_to() {
    for source in [METHOD_BEAT, NO_OP, OF_TESTS, COUNTING] {
        let text = text(source);
        for name in ["lost", "LOST_ENDS"] {
            assert!(text.lines().any(|line| line.contains(&format!(" {name}"))), "{source} has no {name}");
        }
    }
}
