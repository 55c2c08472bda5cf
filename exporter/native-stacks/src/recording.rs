//! The frames of every capture of a recording, as sections for it: what a device keeps when it wipes the stack bytes.

use std::collections::BTreeMap;

use trace_format::section::SectionKind;
use trace_format::sections::native_frames::NativeFrames;
use trace_format::sections::native_modules::{JoinedModules, NativeModules};
use trace_format::sections::native_stack::{NativeStack, WholeStacks};
use trace_format::{ReadError, Recording, Section, Source};

use crate::{Symbols, Unwinders};

/// The most captures that are unwound: more than a recording has room for.
const MAX_CAPTURES: usize = 4_096;
/// The most lists of modules that are read.
const MAX_LISTS: usize = 64;

/// The frames of the captures that have stack bytes, in the order of their numbers. Captures that cannot be unwound have no frames and
/// say why.
///
/// # Errors
/// If the recording cannot be read.
pub fn unwind<S: Source + ?Sized>(
    recording: &Recording<S>,
    symbols: &mut Symbols,
) -> Result<Vec<NativeFrames>, ReadError> {
    let mut lists = Vec::new();
    for section in of(recording, SectionKind::NativeModules).take(MAX_LISTS) {
        lists.extend(recording.payload(section)?.as_deref().and_then(NativeModules::parse));
    }
    // A capture has up to 64 KiB, so that one at a time is in memory, and the last whole stacks.
    let mut captures = BTreeMap::new();
    for capture in recording.native_slots()? {
        captures.insert(capture.number, (capture.at, Place::Slot(Box::new(capture))));
    }
    for section in of(recording, SectionKind::NativeStack).take(MAX_CAPTURES) {
        if let Some(capture) = recording.payload(section)?.as_deref().and_then(NativeStack::parse) {
            captures.insert(capture.number, (capture.at, Place::Section(section)));
        }
    }
    // What stacks touched is listed after they were captured.
    let nearest =
        |at| lists.partition_point(|list: &NativeModules| list.at < at).min(lists.len().saturating_sub(1));
    // Those with the same list follow each other, so that each list is joined once.
    let mut ordered: Vec<_> =
        captures.into_iter().map(|(number, (at, place))| (nearest(at), number, place)).collect();
    ordered.sort_by_key(|(nearest, number, _)| (*nearest, *number));
    let mut ordered = ordered.into_iter().peekable();
    let mut whole = WholeStacks::default();
    let mut all = Vec::new();
    while let Some(&(list, ..)) = ordered.peek() {
        let modules = joined(&lists, list);
        let mut unwinders = Unwinders::of(&modules);
        while let Some((.., place)) = ordered.next_if(|(nearest, ..)| *nearest == list) {
            let capture = match place {
                Place::Slot(capture) => Some(*capture),
                Place::Section(section) => {
                    recording.payload(section)?.as_deref().and_then(NativeStack::parse)
                }
            };
            let Some(capture) = capture.filter(|capture| !capture.is_wiped()) else { continue };
            all.push(unwinders.frames(&capture, &whole.of(&capture), symbols));
        }
    }
    all.sort_by_key(|frames| frames.number);
    Ok(all)
}

/// Where a capture is.
enum Place<'a> {
    Slot(Box<NativeStack>),
    Section(&'a Section),
}

fn of<S: Source + ?Sized>(recording: &Recording<S>, kind: SectionKind) -> impl Iterator<Item = &Section> {
    recording.sections().iter().filter(move |section| section.kind == Some(kind))
}

/// All lists as one. Where two contradict each other, that counts which is nearer to this one, an earlier one first.
fn joined(lists: &[NativeModules], nearest: usize) -> NativeModules {
    let mut joined = JoinedModules::default();
    let order = (0..=nearest).rev().chain(nearest + 1..lists.len());
    order.filter_map(|place| lists.get(place)).for_each(|list| joined.add(list));
    joined.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::native_slot::{Machine, REGISTERS, Reason, state};
    use trace_format::sections::native_modules::Mapping;
    use trace_format::synth::RecordingBuilder;

    fn capture(number: u64, byte: u8) -> NativeStack {
        let mut registers = [0; REGISTERS];
        registers[16] = 0x1_0040;
        NativeStack {
            number,
            tid: 7,
            asked: 10 * number,
            at: 10 * number,
            machine: Machine::X86_64,
            reason: Some(Reason::Stall),
            flags: 0,
            stack_end: 0x9_0000,
            sp: 0x8_0000,
            registers,
            system_call: None,
            mutex: (0, 0),
            previous: None,
            stack: vec![byte; 256],
        }
    }

    #[test]
    fn captures_in_sections_and_slots_are_unwound_and_wiped_ones_are_not() {
        let first = capture(1, 1);
        let mut second = capture(2, 1);
        second.share(1, &first.stack);
        assert!(second.previous.is_some());
        let mut wiped = capture(3, 3).encode();
        NativeStack::wipe(&mut wiped);
        let recording = RecordingBuilder::new(7, "p")
            .native_slot(state::FULL, &capture(4, 4))
            .native_slot(state::FREE, &capture(5, 5))
            .section(SectionKind::NativeStack, &first.encode())
            .section(SectionKind::NativeStack, &second.encode())
            .section(SectionKind::NativeStack, &wiped)
            .build();
        let recording = Recording::open(recording).unwrap();
        let all = unwind(&recording, &mut Symbols::new(Vec::new())).unwrap();
        assert_eq!(
            all.iter().map(|stack| (stack.number, stack.tid)).collect::<Vec<_>>(),
            [(1, 7), (2, 7), (4, 7)]
        );
    }

    #[test]
    fn lists_are_joined_and_files_read_once_in_any_order_of_the_captures() {
        let mut builder = RecordingBuilder::new(7, "p");
        for at in [2_000, 4_000] {
            let mapping = |n: u64| Mapping {
                start: 0x1000 * (n + 1),
                end: 0x1000 * (n + 1) + 0x800,
                offset: 0,
                bias: 0,
                build_id: Vec::new(),
                path: "/nowhere".to_owned(),
            };
            let list = NativeModules {
                at,
                mappings: (0..20_000).map(mapping).collect(),
                ..NativeModules::default()
            };
            builder = builder.section(SectionKind::NativeModules, &list.encode());
        }
        for number in 1..=300 {
            let at = if number % 2 == 0 { 1_000 } else { 3_000 };
            let capture = NativeStack { at, ..capture(number, 1) };
            builder = builder.section(SectionKind::NativeStack, &capture.encode());
        }
        let recording = Recording::open(builder.build()).unwrap();
        let begun = std::time::Instant::now();
        let all = unwind(&recording, &mut Symbols::new(Vec::new())).unwrap();
        assert!(all.iter().map(|stack| stack.number).eq(1..=300));
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn the_list_after_a_capture_counts_first() {
        let list = |at, start, path: &str| NativeModules {
            at,
            mappings: vec![Mapping {
                start,
                end: start + 100,
                offset: 0,
                bias: 0,
                build_id: Vec::new(),
                path: path.to_owned(),
            }],
            ..NativeModules::default()
        };
        let lists = [list(10, 1_000, "a"), list(20, 1_050, "b"), list(30, 5_000, "c")];
        let paths =
            |nearest| joined(&lists, nearest).mappings.into_iter().map(|of| of.path).collect::<Vec<_>>();
        assert_eq!(paths(0), ["a", "c"]);
        assert_eq!(paths(1), ["b", "c"]);
        assert_eq!(joined(&[], 0), NativeModules::default());
    }
}
