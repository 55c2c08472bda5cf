//! Stack bytes of native stacks: in no output of the program, and gone from the recordings of ended processes before an upload.

use std::fs;

use trace_format::event::{Clocks, Message};
use trace_format::native_slot::{Machine, REGISTERS, Reason, state};
use trace_format::section::{self, SectionKind};
use trace_format::sections::native_frames::NativeFrames;
use trace_format::sections::native_stack::{NativeStack, SystemCall};
use trace_format::synth::RecordingBuilder;
use trace_format::{Event, MapId, Recording};

use crate::end_to_end::export_in_app::exporter;
use crate::end_to_end::life::library;
use test_support::android::Case;
use test_support::program;
use test_support::temp_dir::TempDir;

/// A text that the app had on its stack and in registers.
const MARKER: &[u8; 16] = b"w8Rt3vKq5LzD9nYb";
const MAP: &str = "7,1,com.example.Shop load ()V";
const S: u64 = 1_000_000_000;

fn capture(number: u64, filler: u8) -> NativeStack {
    let half = |at: usize| u64::from_le_bytes(MARKER[at..at + 8].try_into().unwrap());
    let mut registers: [u64; REGISTERS] = std::array::from_fn(|i| half(8 * (i % 2)));
    registers[16] = 0x7000_1234;
    NativeStack {
        number,
        tid: 1 << 30,
        asked: 3 * S + number,
        at: 3 * S + number,
        machine: Machine::X86_64,
        reason: Some(Reason::Stall),
        flags: 0,
        stack_end: 0x7fff_0000,
        sp: 0x7ffe_0000,
        registers,
        system_call: Some(SystemCall { number: 0, arguments: [half(0), half(8), half(0), 0, 0, 0] }),
        mutex: (0, 0),
        previous: None,
        stack: [&vec![filler; 512][..], &MARKER.repeat(60)].concat(),
    }
}

/// A recording whose main hangs, with captures in sections that share their outer part, in slots, and in a section that a kill has cut.
fn recording() -> Vec<u8> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let first = capture(1, 1);
    let mut second = capture(2, 2);
    second.share(1, &first.stack);
    assert!(second.previous.is_some());
    let mut bytes = RecordingBuilder::new(1 << 30, "com.example.app")
        .map_id(MapId::from_lines([MAP]))
        .start(Clocks { boottime: 1, monotonic: 1, realtime: now - 9 * S })
        .last_alive(8 * S)
        .main("main", |main| {
            main.event(S, Event::MessageBegin(Message::default())).enter(S + 1, 7);
        })
        .native_slot(state::FULL, &capture(3, 3))
        .native_slot(state::FREE, &capture(4, 4))
        .section(SectionKind::NativeStack, &first.encode())
        .section(SectionKind::NativeStack, &second.encode())
        .section(SectionKind::Verdict, b"verdict=anr\n")
        .build();
    let torn = section::encode(SectionKind::NativeStack, 1, &capture(5, 5).encode());
    bytes.extend_from_slice(&torn[..1_000]);
    bytes
}

/// Whether half of the marker is there: a register's worth. As bytes, or as a number that is printed.
fn has_marker(bytes: &[u8]) -> bool {
    MARKER.as_chunks::<8>().0.iter().any(|half| {
        let number = u64::from_le_bytes(*half);
        let printed = [format!("{number:x}"), format!("{number:X}"), number.to_string()];
        let mut forms: Vec<&[u8]> = vec![half];
        forms.extend(printed.iter().map(|text| text.as_bytes()));
        let found = |form: &[u8]| bytes.windows(form.len()).any(|at| at == form);
        forms.into_iter().any(found)
    })
}

#[test]
fn no_output_of_the_program_has_stack_bytes() {
    let directory = TempDir::new();
    let recordings: Vec<String> = ["one", "two"]
        .iter()
        .map(|name| {
            let path = directory.name(&format!("{name}.anrscope"));
            fs::write(&path, recording()).unwrap();
            path
        })
        .collect();
    fs::write(directory.name("methodMapping.txt"), format!("{MAP}\n")).unwrap();
    let [one, two] = [&recordings[0][..], &recordings[1][..]];
    assert!(has_marker(&fs::read(one).unwrap()));
    let mut outputs = Vec::new();
    let mut printed = |words: &[&str]| {
        let shown = program::run(words);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        outputs.push((words.join(" "), (shown.stdout + &shown.stderr).into_bytes()));
    };
    for format in ["text", "json", "html", "matrix"] {
        printed(&["report", "--format", format, one]);
    }
    printed(&["report", "--verbose", one]);
    printed(&["report", one, two]);
    printed(&["diff", one, two]);
    printed(&["plan", one]);
    let traces = ["pftrace", "json"].map(|form| directory.name(&format!("trace.{form}")));
    for trace in &traces {
        printed(&["export", "-o", trace, one]);
    }
    for trace in traces {
        outputs.push((trace.clone(), fs::read(trace).unwrap()));
    }
    for (what, bytes) in outputs {
        assert!(!bytes.is_empty() && !has_marker(&bytes), "{what}");
    }
}

#[test]
fn an_app_with_the_exporter_keeps_frames_and_one_without_keeps_that_there_was_a_capture() {
    let directory = TempDir::new();
    let library = library(&directory);
    for (name, with_exporter) in [("stack-bytes", false), ("stack-frames", true)] {
        let case = || {
            let exporter = if with_exporter { exporter() } else { "/no/libanrscope_export.so".into() };
            let exporter = format!("anrscope.export.lib={}", exporter.display());
            Case::new("AppUploads").named(name).library(&library).sdk(34).word("1").property(&exporter)
        };
        let of_case = case().directory();
        let _ = fs::remove_dir_all(&of_case);
        let recordings = of_case.join("no_backup/anrscope");
        fs::create_dir_all(&recordings).unwrap();
        let old = recordings.join("old-1.anrscope");
        fs::write(&old, recording()).unwrap();
        let run = case().run_again();
        assert!(run.lines("offered").any(|line| line.starts_with("old-1.anrscope")), "{}", run.printed);

        let bytes = fs::read(&old).unwrap();
        assert!(!has_marker(&bytes), "{name}");
        let recording = Recording::open(bytes).unwrap();
        let payloads = |kind| {
            let sections = recording.sections().iter().filter(move |section| section.kind == Some(kind));
            sections.map(|section| recording.payload(section).unwrap().unwrap()).collect::<Vec<_>>()
        };
        let captures = payloads(SectionKind::NativeStack);
        let captures: Vec<_> = captures.iter().map(|payload| NativeStack::parse(payload).unwrap()).collect();
        assert!(captures.iter().all(|capture| capture.is_wiped() && capture.pc() == 0x7000_1234));
        assert_eq!(captures.iter().map(|capture| capture.number).collect::<Vec<_>>(), [1, 2, 3]);
        let frames = payloads(SectionKind::NativeFrames);
        let frames: Vec<_> =
            frames.iter().map(|payload| NativeFrames::parse(payload).unwrap().number).collect();
        assert_eq!(frames, if with_exporter { vec![1, 2, 3] } else { vec![] }, "{name}");
        assert!(recording.faults().0.is_empty());
        assert_eq!(program::run(["report", old.to_str().unwrap()]).code, Some(0));
    }
}
