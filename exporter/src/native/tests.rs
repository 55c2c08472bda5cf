use std::path::Path;

use trace_format::Recording;
use trace_format::native_slot::{Machine, REGISTERS};
use trace_format::section::SectionKind;
use trace_format::sections::native_modules::Mapping;
use trace_format::sections::native_stack::SystemCall;
use trace_format::synth::RecordingBuilder;

use super::*;
use crate::MethodMap;

const S: u64 = 1_000_000_000;

fn capture(number: u64, at: u64) -> NativeStack {
    NativeStack {
        number,
        tid: 7,
        asked: at,
        at,
        machine: Machine::X86_64,
        reason: Some(Reason::Stall),
        flags: 0,
        stack_end: 0,
        sp: 0x7fff_0000,
        registers: [0; REGISTERS],
        system_call: Some(SystemCall { number: 202, arguments: [1; 6] }),
        mutex: (0x1000, 9),
        previous: None,
        stack: vec![0xa5; 256],
    }
}

fn frames(number: u64, at: u64, functions: &[(&str, &str)]) -> NativeFrames {
    let frame = |(place, (path, function)): (usize, &(&str, &str))| NativeFrame {
        kind: FrameKind::Native,
        pc: 0x5000 + 0x10 * place as u64,
        rel_pc: 0x1000 + 0x10 * place as u64,
        build_id: "abcd".to_owned(),
        path: (*path).to_owned(),
        function: (*function).to_owned(),
        file: "a.c".to_owned(),
        line: 3,
    };
    let frames = functions.iter().enumerate().map(frame).collect();
    NativeFrames { number, tid: 7, at, reason: 1, end: String::new(), frames }
}

fn read(sections: &[(SectionKind, Vec<u8>)]) -> NativeStacks {
    let mut b = RecordingBuilder::new(7, "p").main("main", |t| {
        t.enter(S, 3).exit(9 * S, 3);
    });
    for (kind, payload) in sections {
        b = b.section(*kind, payload);
    }
    let recording = Recording::open(b.build()).unwrap();
    let facts = Facts::of(&recording).unwrap();
    let map = MethodMap::parse(Path::new("m"), b"3,1,a.B c ()V".to_vec()).unwrap();
    NativeStacks::of(&facts, &Names::new(Some(&map)), &[]).unwrap()
}

fn titles(stack: &ThreadStack) -> Vec<String> {
    stack.frames.iter().map(Frame::title).collect()
}

#[test]
fn what_the_device_unwound_is_joined_with_its_wiped_capture_and_its_mapping() {
    let mut wiped = capture(1, 2 * S).encode();
    NativeStack::wipe(&mut wiped);
    let mapping = Mapping {
        start: 0x5000,
        end: 0x6000,
        offset: 0x800,
        bias: 0x4000,
        build_id: vec![0xab, 0xcd],
        path: "/data/app/libx.so".to_owned(),
    };
    let modules = NativeModules { at: 3 * S, mappings: vec![mapping], ..NativeModules::default() };
    let found = read(&[
        (
            SectionKind::NativeFrames,
            frames(1, 2 * S, &[("/data/app/libx.so", "f"), ("/other.so", "")]).encode(),
        ),
        (SectionKind::NativeStack, wiped),
        (SectionKind::NativeModules, modules.encode()),
    ]);
    assert_eq!((found.not_unwound, found.all.len()), (0, 1));
    let stack = &found.all[0];
    assert_eq!(titles(stack), ["f", "other.so+0x1010"]);
    assert_eq!(stack.call_words().as_deref(), Some("in futex (waits for a mutex owned by tid 9)"));
    assert_eq!(stack.frames[0].source, Some(("a.c".into(), 3)));
    let file = |frame: usize| {
        &found.mappings[stack.frames[frame].native.as_ref().unwrap().mapping.unwrap() as usize]
    };
    assert_eq!((file(0).start, file(0).load_bias, &file(0).build_id[..]), (0x5000, 0x800, &[0xab, 0xcd][..]));
    assert_eq!((file(1).start, &*file(1).path, &file(1).build_id[..]), (0, "/other.so", &[0xab, 0xcd][..]));
}

#[test]
fn open_calls_stand_where_the_stack_of_the_device_is_cut() {
    let mut cut = frames(1, 2 * S, &[("/data/app/libx.so", "f")]);
    cut.end = "no unwind data".to_owned();
    let found = read(&[(SectionKind::NativeFrames, cut.encode())]);
    assert_eq!(
        (titles(&found.all[0]), found.all[0].approximate),
        (vec!["f".to_owned(), "a.B.c".to_owned()], true)
    );
    cut.at = 10 * S;
    let found = read(&[(SectionKind::NativeFrames, cut.encode())]);
    assert_eq!(titles(&found.all[0]), ["f"], "the call had ended");
}

#[test]
fn a_capture_that_the_device_did_not_unwind_is_counted_or_unwound_here() {
    let found = read(&[(SectionKind::NativeStack, capture(1, 2 * S).encode())]);
    assert_eq!((found.all.len(), found.not_unwound), (1, u64::from(!HAS_UNWINDING)));
    assert!(!found.all[0].end.is_empty());
    let mut wiped = capture(1, 2 * S).encode();
    NativeStack::wipe(&mut wiped);
    let found = read(&[(SectionKind::NativeStack, wiped)]);
    assert_eq!((found.not_unwound, &*found.all[0].end), (0, "wiped before it was unwound"));
    assert_eq!(found.all[0].owner, Some(9));
}

#[test]
fn frames_beyond_the_limit_are_counted_and_not_kept() {
    let full: Vec<(&str, &str)> = vec![("/l", "f"); 1024];
    let sections: Vec<_> = (1..=260)
        .map(|number| (SectionKind::NativeFrames, frames(number, number * S, &full).encode()))
        .collect();
    let found = read(&sections);
    assert_eq!((found.all.len(), found.more), (MAX_FRAMES / 1024, 260 - MAX_FRAMES as u64 / 1024));
}

#[test]
fn lists_of_modules_are_joined_once_in_any_order_of_the_captures() {
    let list = |at| {
        let mapping = |n: u64| Mapping {
            start: 0x1000 * (n + 1),
            end: 0x1000 * (n + 1) + 0x800,
            offset: 0,
            bias: 0,
            build_id: Vec::new(),
            path: "/x".to_owned(),
        };
        let modules =
            NativeModules { at, mappings: (0..20_000).map(mapping).collect(), ..NativeModules::default() };
        (SectionKind::NativeModules, modules.encode())
    };
    let mut sections = vec![list(2 * S), list(4 * S)];
    for number in 1..=500 {
        let mut wiped = capture(number, if number % 2 == 0 { S } else { 3 * S }).encode();
        NativeStack::wipe(&mut wiped);
        sections.push((SectionKind::NativeStack, wiped));
    }
    let begun = std::time::Instant::now();
    assert_eq!(read(&sections).all.len(), 500);
    assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
}
