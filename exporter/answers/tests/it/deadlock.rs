//! Matrix's deadlock finder (SignalAnrTracer's trace file): its answers on seven dumps are test vectors,
//! created by running it: `tests/data/deadlock`.

use std::fs;
use std::path::Path;

use answers::dump::{Dump, LockGraph, Thread};
use serde_json::Value;

/// A thread's lines as in the text.
fn text(lines: &[&str], thread: &Thread) -> String {
    let (first, last) = (thread.lines.0 as usize, thread.lines.1 as usize);
    lines[first - 1..last].iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_answers_are_those_of_the_vectors() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/deadlock");
    let expected = fs::read_to_string(directory.join("expected.jsonl")).unwrap();
    let mut cases = 0;
    for line in expected.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let file = directory.join(expected["file"].as_str().unwrap());
        let whole = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let dump = Dump::open(&file).unwrap();
        let section = &dump.sections[0];
        let graph = LockGraph::from(section);
        let cycle = graph.deadlocks.first();
        assert_eq!(cycle.is_some(), expected["deadlock"].as_bool().unwrap(), "{line}");
        // Matrix has main's text only if main waits for an owned lock.
        let main = section.main().filter(|main| graph.edge_from(main.tid.unwrap()).is_some());
        let main = main.map(|main| text(&lines, main)).unwrap_or_default();
        assert_eq!(main, expected["main"].as_str().unwrap(), "{line}");
        if let Some(cycle) = cycle {
            assert_eq!(serde_json::to_value(cycle).unwrap(), expected["tids"], "{line}");
            let classes: Vec<&str> =
                cycle.iter().map(|&tid| graph.edge_from(tid).unwrap().class.as_deref().unwrap()).collect();
            assert_eq!(classes.join(";"), expected["locks"].as_str().unwrap(), "{line}");
            for (tid, key) in [(cycle.first(), "t1"), (cycle.last(), "t2")] {
                let thread = section.thread(*tid.unwrap()).unwrap();
                assert_eq!(text(&lines, thread), expected[key].as_str().unwrap(), "{line}");
            }
        }
        cases += 1;
    }
    assert_eq!(cases, 7);
}
