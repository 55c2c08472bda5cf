//! Stacks of arbitrary words: for any words, the lines form a tree and memory is bounded.

use proptest::prelude::*;
use trace_format::ids::DISPATCH;
use trace_rules::Rules;
use trace_rules::stack::{Call, CallTree, TARGET_LINES, cost_ms, key, log_text, matrix, text, trim};

use crate::matrix_words::from_matrix_words;

fn call() -> impl Strategy<Value = Call> {
    let id = prop_oneof![8 => 1..12u32, 1 => Just(DISPATCH), 1 => 0..1u32 << 20];
    // Mostly forwards, at times back.
    (id, any::<bool>(), 0..1_000_000_000u64).prop_map(|(id, entered, at_ns)| Call { id, entered, at_ns })
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    (prop::collection::vec(call(), 0..400), any::<bool>()).prop_map(|(mut calls, sorted)| {
        if sorted {
            calls.sort_by_key(|call| call.at_ns);
        }
        calls
    })
}

proptest! {
    #[test]
    fn any_calls_make_a_tree_with_every_call_in_it(calls in calls(), end_ns in 0..2_000_000_000u64) {
        let finished = CallTree::from_calls(calls.iter().copied(), end_ns);
        let entered = calls.iter().filter(|call| call.entered).count();
        let counted: u64 = finished.lines.iter().map(|line| u64::from(line.count)).sum();
        prop_assert_eq!(counted, entered as u64);
        let left = calls.len() - entered - finished.loss.orphan_exits as usize;
        prop_assert_eq!(left + finished.loss.unwound as usize + finished.loss.open_at_end as usize, entered);

        let mut trimmed = finished.lines.clone();
        trim(&mut trimmed, TARGET_LINES, Rules::Anrscope);
        for lines in [&finished.lines, &trimmed] {
            let mut above = -1;
            for line in lines.iter() {
                prop_assert!((0..=above + 1).contains(&line.depth));
                prop_assert!(line.ms >= 0);
                above = line.depth;
            }
        }
        prop_assert!(trimmed.len() <= TARGET_LINES);
        prop_assert_eq!(trimmed.is_empty(), finished.lines.is_empty());
        // No line is longer than the one that called it, merged calls together neither.
        let mut open: Vec<i32> = Vec::new();
        for line in &finished.lines {
            open.truncate(line.depth as usize);
            prop_assert!(open.last().is_none_or(|caller| line.ms <= *caller));
            open.push(line.ms);
        }
    }

    #[test]
    fn matrix_s_way_takes_any_words(
        words in prop::collection::vec(any::<i64>(), 0..200),
        strict: bool,
        end: i64,
        base: i64,
    ) {
        let mut lines = matrix::lines(&words, strict, end, base, &mut |_| {});
        trim(&mut lines, TARGET_LINES, Rules::Matrix);
        let cost = cost_ms(&lines, 700);
        prop_assert!(text(&lines).lines().count() == lines.len());
        prop_assert!(log_text(&lines).lines().count() == lines.len() + 2);
        prop_assert_eq!(key(&lines, cost, Rules::Matrix).is_empty(), lines.is_empty());
        prop_assert!(CallTree::from_calls(from_matrix_words(&words), 0).loss.too_deep == 0);
    }
}

#[test]
fn a_million_short_calls_are_few_lines_and_a_million_deep_ones_are_an_end() {
    // Different neighbours, so that nothing merges.
    let mut tree = CallTree::new();
    tree.push(Call::enter(DISPATCH, 0));
    for n in 0..1_000_000u64 {
        let id = 1 + (n % 7) as u32;
        tree.push(Call::enter(id, n * 1_000));
        tree.push(Call::exit(id, n * 1_000 + 900));
    }
    tree.push(Call::enter(9, 1_000_000_000));
    tree.push(Call::exit(9, 1_700_000_000));
    let finished = tree.finish(1_700_000_000);
    assert!(finished.lines.len() < 5_000, "{} lines", finished.lines.len());
    assert_eq!(finished.loss.short as usize + finished.lines.len(), 1_000_002);
    let mut lines = finished.lines;
    trim(&mut lines, TARGET_LINES, Rules::Anrscope);
    assert_eq!(key(&lines, 1_700, Rules::Anrscope), "9|");

    let mut deep = CallTree::new();
    (0..1_000_000u64).for_each(|n| deep.push(Call::enter(5, n)));
    let finished = deep.finish(10_000_000_000);
    assert_eq!((finished.lines.len(), finished.loss.too_deep), (1 << 14, 1_000_000 - (1 << 14)));
}

/// A stack overflow that is caught: the exits of the calls that were too deep never come. The next message is whole again.
#[test]
fn calls_that_were_too_deep_end_with_their_message() {
    let mut tree = CallTree::new();
    tree.push(Call::enter(DISPATCH, 0));
    (0..100_000u64).for_each(|n| tree.push(Call::enter(5, n)));
    tree.push(Call::exit(DISPATCH, 8_000_000_000));
    for call in [
        Call::enter(DISPATCH, 9_000_000_000),
        Call::enter(6, 9_000_000_000),
        Call::exit(6, 9_700_000_000),
        Call::exit(DISPATCH, 9_800_000_000),
    ] {
        tree.push(call);
    }
    let lines = tree.finish(0).lines;
    assert_eq!(text(&lines[lines.len() - 2..]), "0,1048574,1,800\n1,6,1,700\n");
}
