//! The deadlock finder against Matrix's own answers on thread dumps made for this project; `ANRSCOPE_GOLDEN` names a directory with
//! `deadlock.jsonl` and `deadlock_traces/` for more of them.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use trace_rules::locks::{Locks, cycles};

/// Answers, and the directory that their dumps are in.
fn vectors() -> Vec<(PathBuf, PathBuf)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exporter/answers/tests/data/deadlock");
    let mut all = vec![(own.join("expected.jsonl"), own)];
    if let Some(golden) = std::env::var_os("ANRSCOPE_GOLDEN") {
        let golden = Path::new(&golden);
        if golden.join("deadlock.jsonl").exists() {
            all.push((golden.join("deadlock.jsonl"), golden.join("deadlock_traces")));
        }
    }
    all
}

#[test]
fn deadlocks_are_found_as_matrix_finds_them() {
    for (answers, directory) in vectors() {
        let answers = std::fs::read_to_string(&answers).unwrap();
        assert!(answers.lines().count() >= 7);
        for line in answers.lines() {
            let expected: Value = serde_json::from_str(line).unwrap();
            let text = std::fs::read_to_string(directory.join(expected["file"].as_str().unwrap())).unwrap();
            let locks = Locks::parse(&text);
            let tids: Vec<u32> = locks.cycle.iter().map(|one| one.tid).collect();
            assert_eq!(!tids.is_empty(), expected["deadlock"].as_bool().unwrap(), "{line}");
            // Matrix gives main's text only where main waits for a lock that is held.
            let main = if locks.main_waits { locks.main } else { "" };
            assert_eq!(main.trim_end(), expected["main"].as_str().unwrap().trim_end(), "{line}");
            if !tids.is_empty() {
                assert_eq!(serde_json::to_value(&tids).unwrap(), expected["tids"], "{line}");
                let classes: Vec<_> = locks.cycle.iter().map(|one| one.lock).collect();
                assert_eq!(classes.join(";"), expected["locks"].as_str().unwrap(), "{line}");
                // It puts a line feed behind each line, there or not.
                for (at, key) in [(0, "t1"), (tids.len() - 1, "t2")] {
                    assert_eq!(locks.cycle[at].text.trim_end(), expected[key].as_str().unwrap().trim_end());
                }
            }
            // Matrix's finder cannot find it: it reads main's text only where main waits for a lock.
            assert_eq!(locks.is_main_idle(), expected["file"] == "main_poll.txt", "{line}");
        }
    }
}

/// Cycles found by walking from each node as many steps as there are nodes.
fn plainly(ways: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let next = |node: u32| ways.iter().find(|way| way.0 == node).map(|way| way.1);
    let mut found: Vec<Vec<u32>> = Vec::new();
    for &(start, _) in ways {
        let mut at = Some(start);
        for _ in 0..ways.len() {
            at = at.and_then(next);
        }
        let Some(on) = at else { continue };
        let mut cycle = vec![on];
        while let Some(node) = next(cycle[cycle.len() - 1]).filter(|node| *node != on) {
            cycle.push(node);
        }
        let least = (0..cycle.len()).min_by_key(|n| cycle[*n]).unwrap();
        cycle.rotate_left(least);
        if next(cycle[cycle.len() - 1]).is_some() && !found.contains(&cycle) {
            found.push(cycle);
        }
    }
    found
}

proptest! {
    #[test]
    fn cycles_equal_those_of_a_plain_walk(ways in proptest::collection::vec((0u32..12, 0u32..12), 0..14)) {
        let (mut ours, mut plain) = (cycles(ways.iter().copied()), plainly(&ways));
        ours.sort();
        plain.sort();
        prop_assert_eq!(ours, plain);
    }

    #[test]
    fn any_text_is_read(text in "(\"main\" |\"a\" prio=5 tid=[0-9]{1,3} Blocked\n|  - waiting to lock <0x1> \\(a L\\) held by thread [0-9]\n|  at a\\.B\n|\n|\\PC){0,40}") {
        let locks = Locks::parse(&text);
        prop_assert!(locks.cycle.iter().all(|one| text.contains(one.text)));
    }
}
