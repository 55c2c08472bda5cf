//! Compares what is restored with the same thread before anything was lost.

use std::ops::Range;

use proptest::prelude::*;
use trace_format::event::{Message, Wait, WaitKind};
use trace_format::synth::{RecordingBuilder, ThreadBuilder};

use super::*;

const MESSAGE: u32 = typed(types::MESSAGE);

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Op {
    Begin(u32),
    /// Ends the innermost item.
    End,
    NewBlock,
}

/// A slice: key, start, whether it started before that, end, depth.
type Slice = (u32, u64, bool, Option<u64>, usize);

/// A thread with the block and time of each event.
struct Made {
    bytes: Vec<u8>,
    events: Vec<(usize, u64, Option<u32>)>,
    /// When each block started.
    begun: Vec<u64>,
}

/// Writes `ops`; each block lists its `named` outermost calls, and the blocks in `lost` are missing from the
/// file.
fn made(ops: &[(Op, u64)], named: Option<usize>, lost: &[Range<usize>]) -> Made {
    let mut events = Vec::new();
    let mut begun = Vec::new();
    let bytes = RecordingBuilder::new(1, "p").main("main", |t: &mut ThreadBuilder| {
        if let Some(named) = named {
            t.checkpoints(named);
        }
        let (mut now, mut open) = (1_000, Vec::new());
        t.new_block(now);
        begun.push(now);
        for (op, gap) in ops {
            now += gap;
            match op {
                Op::NewBlock => {
                    t.new_block(now);
                    begun.push(now);
                    continue;
                }
                Op::Begin(MESSAGE) => t.event(now, Event::MessageBegin(Message::default())),
                Op::Begin(id) => t.enter(now, *id),
                Op::End => match open.pop() {
                    Some(MESSAGE) => t.event(now, Event::MessageEnd),
                    Some(id) => t.exit(now, id),
                    None => continue,
                },
            };
            let key = if let Op::Begin(key) = op { Some(*key) } else { None };
            open.extend(key);
            assert_eq!(t.blocks(), begun.len(), "no block is full");
            events.push((t.blocks() - 1, now, key));
        }
        for range in lost {
            t.lose(range.clone());
        }
    });
    Made { bytes: bytes.build(), events, begun }
}

/// The slices from main's steps.
fn read(bytes: &[u8]) -> Vec<Slice> {
    let recording = Recording::open(bytes).unwrap();
    let Some(main) = recording.threads().first() else { return Vec::new() };
    let (mut slices, mut open): (Vec<Slice>, Vec<usize>) = (Vec::new(), Vec::new());
    for step in restored(&recording, main, &[]) {
        let step = step.unwrap();
        let Some((time, begun, ended)) = step.change() else { continue };
        if let Some(key) = begun {
            slices.push((key, time, matches!(step, Step::Before { .. }), None, open.len()));
            open.push(slices.len() - 1);
        } else if let Some(place) = ended.and_then(|key| open.iter().rposition(|i| slices[*i].0 == key)) {
            assert_eq!(place, open.len() - 1, "nothing is left open inside: {ended:?} of {slices:?}");
            slices[open.remove(place)].3 = Some(time);
        }
    }
    slices.sort();
    slices
}

/// What is known of a thread whose first `lost` blocks are missing, if blocks list this many open calls
/// (`None`: no lists).
fn known(made: &Made, named: Option<usize>, lost: usize) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    let first = match named {
        Some(_) => made.begun.get(lost).copied(),
        None => made.events.iter().find(|(block, ..)| *block >= lost).map(|(_, time, _)| *time),
    };
    let Some(first) = first else { return slices };
    // Each with its number of enclosing method calls, and whether its start is present.
    let mut open: Vec<(Slice, usize, bool)> = Vec::new();
    for (block, time, key) in &made.events {
        let here = *block >= lost;
        match key {
            Some(key) => {
                let methods = open.iter().filter(|((key, ..), ..)| ids::is_method(*key)).count();
                let time = if here { *time } else { first };
                open.push(((*key, time, !here, None, 0), methods, here));
            }
            None => {
                let (mut slice, ..) = open.pop().unwrap();
                if here {
                    slice.3 = Some(*time);
                    slices.push(slice);
                }
            }
        }
    }
    for (slice, methods, here) in open {
        let named_elsewhere = ids::is_method(slice.0) && named.is_some_and(|named| methods < named);
        if here || named_elsewhere {
            slices.push(slice);
        }
    }
    slices
}

/// The slices without depths, which are right if the slices nest.
fn flat(slices: &[Slice]) -> Vec<(u32, u64, bool, Option<u64>)> {
    let mut flat: Vec<_> =
        slices.iter().map(|(key, begin, before, end, _)| (*key, *begin, *before, *end)).collect();
    flat.sort_unstable();
    flat
}

fn ops(ids: Range<u32>, messages: bool) -> impl Strategy<Value = Vec<(Op, u64)>> {
    let begin = ids.prop_map(move |id| Op::Begin(if messages && id % 5 == 0 { MESSAGE } else { id }));
    let op = prop_oneof![8 => begin, 7 => Just(Op::End), 2 => Just(Op::NewBlock)];
    prop::collection::vec((op, 1..100_u64), 0..200)
}

/// What must be known for gaps anywhere, if every call has a distinct id and blocks list all open calls.
fn known_in_between(made: &Made, lost: &[Range<usize>]) -> Vec<(u32, u64, bool, Option<u64>)> {
    let is_lost = |block: usize| lost.iter().any(|range| range.contains(&block));
    let (mut slices, mut last, mut missing) = (Vec::new(), 0, false);
    // What is open according to the present words, and in truth.
    let mut open: Vec<(u32, u64, bool)> = Vec::new();
    let mut truth: Vec<u32> = Vec::new();
    let mut events = made.events.iter().peekable();
    for (block, begun) in made.begun.iter().enumerate() {
        if is_lost(block) {
            missing = true;
        } else {
            if std::mem::take(&mut missing) {
                let same = open.iter().zip(&truth).take_while(|((id, ..), truth)| id == *truth).count();
                slices.extend(open.drain(same..).map(|(id, begin, before)| (id, begin, before, Some(last))));
                open.extend(truth[same..].iter().map(|id| (*id, *begun, true)));
            }
            last = *begun;
        }
        while let Some((_, time, key)) = events.next_if(|(of, ..)| *of == block) {
            match key {
                Some(id) => truth.push(*id),
                None => {
                    truth.pop();
                }
            }
            if is_lost(block) {
                continue;
            }
            last = *time;
            match key {
                Some(id) => open.push((*id, *time, false)),
                None => {
                    let (id, begin, before) = open.pop().unwrap();
                    slices.push((id, begin, before, Some(*time)));
                }
            }
        }
    }
    slices.extend(open.into_iter().map(|(id, begin, before)| (id, begin, before, None)));
    slices.sort_unstable();
    slices
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_that_overlaps_the_words_that_are_left_is_there(
        ops in ops(1..20, true),
        named in prop_oneof![Just(None), (0..12_usize).prop_map(Some), Just(Some(100))],
        lost in 0..20_usize,
    ) {
        let first = 0..lost;
        let made = made(&ops, named, std::slice::from_ref(&first));
        let found = read(&made.bytes);
        let known = if lost >= made.begun.len() { Vec::new() } else { known(&made, named, lost) };
        prop_assert_eq!(flat(&found), flat(&known));
        // Slices of one depth follow each other, each inside one of the depth above.
        for (i, (_, begin, _, end, depth)) in found.iter().enumerate() {
            let end = end.unwrap_or(u64::MAX);
            let around = found.iter().filter(|(_, b, _, e, d)| {
                *d + 1 == *depth && *b <= *begin && e.unwrap_or(u64::MAX) >= end
            });
            prop_assert!(*depth == 0 || around.count() > 0);
            let beside = found[i + 1..].iter().filter(|s| s.4 == *depth);
            let apart = beside.clone().all(|s| s.1 >= end || s.3.unwrap_or(u64::MAX) <= *begin);
            prop_assert!(apart, "{:?}", found);
        }
    }

    #[test]
    fn what_is_open_over_lost_words_goes_on_and_what_is_not_has_ended(
        ops in ops(1..2, false),
        lost in prop::collection::vec((0..12_usize, 1..4_usize), 0..4),
    ) {
        let mut next = 0;
        let ops: Vec<_> = ops.into_iter().map(|(op, gap)| {
            next += 1;
            (if matches!(op, Op::Begin(_)) { Op::Begin(next) } else { op }, gap)
        }).collect();
        let lost: Vec<_> = lost.into_iter().map(|(from, n)| from..from + n).collect();
        let made = made(&ops, Some(1_000), &lost);
        prop_assert_eq!(flat(&read(&made.bytes)), known_in_between(&made, &lost));
    }
}

#[test]
fn nothing_is_put_back_where_nothing_is_lost() {
    let bytes = RecordingBuilder::new(1, "p").main("main", |t| {
        // A method that was switched on while it was open, and one that was off when its block started.
        t.enter(1, 1).exit(2, 9).exit(3, 1);
        t.event(4, Event::OpenCalls(OpenCalls::new(2, 0, &[4, 5]))).exit(5, 5).enter(6, 2);
    });
    assert_eq!(read(&bytes.build()), [(1, 1, false, Some(3), 0), (2, 6, false, None, 0)]);
}

#[test]
fn a_block_list_that_contradicts_the_preceding_words_is_ignored() {
    let bytes = RecordingBuilder::new(1, "p").main("main", |t| {
        t.overwritten(1).event(10, Event::OpenCalls(OpenCalls::new(2, 0, &[4, 5]))).enter(11, 6);
        // Lists four calls around the entered one, or none, or others.
        for (depth, calls) in [(5, &[4, 5, 7, 8, 6][..]), (0, &[]), (3, &[8, 9, 6])] {
            t.event(12, Event::OpenCalls(OpenCalls::new(depth, 0, calls)));
        }
        t.exit(13, 6).exit(14, 5).exit(15, 33);
    });
    assert_eq!(
        read(&bytes.build()),
        [(4, 10, true, None, 0), (5, 10, true, Some(14), 1), (6, 11, false, Some(13), 2)]
    );
}

#[test]
fn the_innermost_of_a_deep_stack_are_known_by_their_ends() {
    let bytes = RecordingBuilder::new(1, "p").main("main", |t| {
        t.overwritten(1).event(10, Event::OpenCalls(OpenCalls::new(5, 0, &[1, 2]))).exit(11, 5).exit(12, 4);
    });
    let found = read(&bytes.build());
    assert_eq!(
        found,
        [
            (1, 10, true, None, 0),
            (2, 10, true, None, 1),
            (4, 10, true, Some(12), 2),
            (5, 10, true, Some(11), 3)
        ]
    );
}

#[test]
fn memory_does_not_grow_with_what_a_file_promises() {
    let bytes = RecordingBuilder::new(1, "p").main("main", |t| {
        t.overwritten(1).event(10, Event::OpenCalls(OpenCalls::new(0xFF_FFFF, 0, &[1; 36])));
        for i in 0..MAX_BEFORE as u64 + 5_000 {
            t.exit(11 + i, 3);
        }
    });
    assert_eq!(read(&bytes.build()).len(), MAX_BEFORE + 36);
}

/// Reads main's steps as starts (`+7`), ends (`-7`) and added ends (`~7`).
fn steps(make: impl FnOnce(&mut ThreadBuilder)) -> String {
    let bytes = RecordingBuilder::new(1, "p").main("main", make).build();
    let recording = Recording::open(&bytes).unwrap();
    let main = recording.threads().first().unwrap();
    let mut text = Vec::new();
    for step in restored(&recording, main, &[]) {
        match step.unwrap() {
            Step::Event { event: Event::Enter(id), .. } => text.push(format!("+{id}")),
            Step::Event { event: Event::Exit(id), .. } => text.push(format!("-{id}")),
            Step::Event { event: Event::WaitBegin(_), .. } => text.push("+w".to_owned()),
            Step::Event { event: Event::LostEnd(_), .. } => text.push("lost".to_owned()),
            Step::Ended { key, .. } if key == typed(types::WAIT) => text.push("~w".to_owned()),
            Step::Ended { key, .. } => text.push(format!("~{key}")),
            _ => {}
        }
    }
    text.join(" ")
}

#[test]
fn a_lost_exit_closes_the_calls_that_may_have_ended() {
    // Two methods recurse to the end of the stack; the exits of the inner ones are lost.
    let recursion = |t: &mut ThreadBuilder| {
        [1, 2, 3, 2, 3].into_iter().for_each(|id| {
            t.enter(1_000, id);
        });
    };
    let text = steps(|t| {
        recursion(t);
        t.event(2_000, Event::LostEnd(LostEnd::Exit(3)));
        t.exit(2_000, 2);
        t.enter(3_000, 4);
    });
    assert_eq!(text, "+1 +2 +3 +2 +3 lost ~3 ~2 ~3 -2 +4");
    // A later loss starts from what is left.
    let text = steps(|t| {
        recursion(t);
        t.event(2_000, Event::LostEnd(LostEnd::Exit(3)));
        t.enter(3_000, 3);
        t.event(4_000, Event::LostEnd(LostEnd::Exit(2)));
        t.event(5_000, Event::LostEnd(LostEnd::Any));
    });
    assert_eq!(text, "+1 +2 +3 +2 +3 lost ~3 ~2 ~3 +3 lost ~3 ~2 lost ~1");
    // Another thread's.
    let text = steps(|t| {
        recursion(t);
        t.event(2_000, Event::LostEnd(LostEnd::Exit(9)));
    });
    assert_eq!(text, "+1 +2 +3 +2 +3 lost");
}

#[test]
fn a_lost_end_of_a_wait_closes_the_innermost_waits_only() {
    let wait = Event::WaitBegin(Wait { lock: 1, ..Wait::new(WaitKind::Park) });
    let text = steps(|t| {
        t.enter(1_000, 1).event(1_000, wait);
        t.event(2_000, Event::LostEnd(LostEnd::Wait));
        t.event(3_000, wait).enter(3_000, 2);
        t.event(4_000, Event::LostEnd(LostEnd::Wait));
    });
    assert_eq!(text, "+1 +w lost ~w +w +2 lost");
}
