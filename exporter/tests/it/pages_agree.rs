//! One hostile recording for every page: all agree on what they know and on what they could not read.

use std::path::Path;

use exporter::diff::DurationTable;
use exporter::facts::Facts;
use exporter::matrix::{IssueOptions, issues};
use exporter::{ExportInput, ExportOptions, ExportSummary, Format, Report, Warning, export};
use test_support::recordings::{MS, S, map, sigquit};
use trace_format::event::{Change, Control, Forward, Message, Sigquit, Wait, WaitKind};
use trace_format::native_slot::{Machine, Reason};
use trace_format::section::SectionKind;
use trace_format::sections::anr_snapshot::AnrSnapshot;
use trace_format::sections::native_stack::{NativeStack, SystemCall};
use trace_format::sections::timed;
use trace_format::synth::RecordingBuilder;
use trace_format::{Event, Recording};

const WAITING: u64 = 40_000;
const SAMPLES: u64 = 20_000;

/// A snapshot of 2.0 MB, of a queue that never ends.
fn snapshot() -> Vec<u8> {
    let pending: String = (0..WAITING)
        .map(|n| format!("Message {n}: {{ when=-{n}ms what=3 target=com.example.Flood }}\n"))
        .collect();
    let snapshot = AnrSnapshot {
        detector: Some("sigquit".to_owned()),
        at: 110 * S,
        message_since: 102 * S,
        state: Some("BLOCKED".to_owned()),
        stack: "com.example.Seen.here(Seen.java:1)\r\ncom.example.Seen.around(Seen.java:2)\r\n".to_owned(),
        pending,
        ..AnrSnapshot::default()
    };
    let text = snapshot.encode();
    assert!(text.len() > 2_000_000, "{}", text.len());
    text.into_bytes()
}

fn samples() -> Vec<u8> {
    let mut text =
        "@103000000000 0\ncom.example.Loop.turn(Loop.java:7)\ncom.example.Main.run(Main.java:3)\n".to_owned();
    (1..SAMPLES).for_each(|n| text.push_str(&format!("@{} 2\n", 103 * S + n)));
    text.push_str("@torn 1\n@5");
    text.into_bytes()
}

/// A stack of an unknown thread, taken for an unknown reason, deeper than any.
fn native_frames() -> Vec<u8> {
    let mut text =
        format!("number=18446744073709551615\ntid=77\nat={}\nreason=200\nend=torn\x07\n\n", 111 * S);
    for n in 0..3_000_u64 {
        text.push_str(&format!(
            "n {:x} {:x} zz\t/lib{n}.so\tcom\x1b.x::f{n}\t\t{n}\n",
            u64::MAX - n,
            u64::MAX
        ));
    }
    text.into_bytes()
}

fn hostile() -> Vec<u8> {
    let later = Event::Unknown { ty: 0x77, begin: false };
    RecordingBuilder::new(4242, "com.example.hostile")
        .last_alive(112 * S)
        .main("main", |t| {
            t.event(101 * S, later)
                .event(102 * S, Event::MessageBegin(Message::default()))
                .enter(102 * S + MS, 2);
            let kind = WaitKind::Unknown(77);
            t.event(103 * S, Event::WaitBegin(Wait { lock: 5, ..Wait::new(kind) }));
            t.event(104 * S, Event::WaitEnd).event(105 * S, later);
        })
        .service(|t| {
            let control = Control { change: Change::Unknown(42), method: 0, rate: 0 };
            let forward = Forward::Unknown(9);
            let sigquit = Sigquit { forward, ..sigquit(110 * S, 102 * S) };
            t.event(100 * S, Event::Control(control)).event(110 * S, Event::Sigquit(sigquit));
        })
        .section(SectionKind::AnrSnapshot, &snapshot())
        .section(SectionKind::AnrSnapshot, b"detector=looper\nat=0\n")
        .section(SectionKind::StackSamples, &samples())
        .section(SectionKind::Startup, b"kind=lukewarm\nbegin=1\nend=2\n")
        .section(SectionKind::Verdict, b"verdict=haunted\n")
        .section(SectionKind::Issue, &timed::encode(1, b"{\"tag\":"))
        .section(SectionKind::DumpText, b"short")
        .section(SectionKind::PlatformProfile, b"path=/x\n")
        .section(SectionKind::SelfMeasurement, b"clock=sun\n")
        .section(SectionKind::NativeStack, b"short")
        .section(SectionKind::NativeFrames, b"number=0\ntid=7\nat=1\n\nn 1 1 -\t/x\tf\t\t0\n")
        .section(SectionKind::NativeFrames, &native_frames())
        .section(
            SectionKind::NativeModules,
            b"at=1\nmap 0 ffffffffffffffff 0 ffff - /x\nmap 5 4 0 0 zz /y\njit 9 1\nfde\n",
        )
        .section(SectionKind::Overhead, b"5 cost NaN 1 1\nx\n6 off 7 9\n")
        .build()
}

/// The skipped counts in a page's warnings.
fn skipped(warnings: &[Warning]) -> String {
    let skipped = warnings.iter().filter(|warning| matches!(warning, Warning::Skipped { .. }));
    let skipped: Vec<_> = skipped.map(ToString::to_string).collect();
    let [one] = &skipped[..] else { panic!("{warnings:?}") };
    one.clone()
}

fn trace(recording: &Recording<Vec<u8>>, format: Format) -> (ExportSummary, Vec<u8>) {
    let mut out = Vec::new();
    let input = ExportInput { file: Path::new("h.anrscope"), recording, map: &map() };
    let summary = export(&[input], &ExportOptions::new(format, 0), &mut out).unwrap();
    (summary, out)
}

fn has(page: &[u8], text: &str) -> bool {
    memchr::memmem::find(page, text.as_bytes()).is_some()
}

#[test]
fn all_pages_agree_on_what_they_knew_and_on_what_they_could_not_read() {
    let recording = Recording::open(hostile()).unwrap();
    let (file, map) = (Path::new("h.anrscope"), map());
    let wanted = "h.anrscope: not read: ANR snapshots 1, events of later versions 2, \
                  frames of native stacks 1, lines of overhead 2, native stacks 1, profiles of the platform 1, reports of the app 1, self-measurements 1, stack samples 2, starts 1, \
                  thread dumps 1, verdicts 1";

    let facts = Facts::of(&recording).unwrap();
    assert_eq!(facts.sections.samples.iter().count() as u64, SAMPLES);
    assert_eq!((facts.sections.snapshots.len(), facts.incidents.anrs.len()), (1, 1));

    // The trace, in both forms.
    for format in [Format::Perfetto, Format::ChromeJson] {
        let (summary, page) = trace(&recording, format);
        assert_eq!(skipped(&summary.warnings), wanted);
        assert!(has(&page, wanted), "the trace says so too");
        let counts = summary.counts;
        assert_eq!((counts.anrs, counts.orphan_exits, counts.stacks), (1, 0, SAMPLES + 2), "{format:?}");
        for text in [
            "wait of unknown kind 77",
            "unknown (9)",
            "recording changed: unknown (42)",
            "com.example.Flood: #3",
        ] {
            assert!(has(&page, text), "{format:?} without {text}");
        }
        // Chrome's form has no place for stacks.
        let stacks = ["com.example.Seen.here", "com.example.Loop.turn"].iter().all(|frame| has(&page, frame));
        assert_eq!(stacks, format == Format::Perfetto, "{format:?}");
    }
    let (_, json) = trace(&recording, Format::ChromeJson);
    assert!(has(&json, "\"pending_messages\":40000"));

    // The report, in its three forms.
    let report = Report::build(file, &recording, &map).unwrap();
    assert_eq!(skipped(&report.warnings), wanted);
    assert_eq!((report.anrs.len(), report.hang.as_ref().map(|h| h.since)), (1, Some(102 * S)));
    assert_eq!(report.waits.iter().map(|wait| wait.kind).collect::<Vec<_>>(), [WaitKind::Unknown(77)]);
    let text = report.verbose().to_string();
    assert!(text.contains(wanted) && text.contains("in a wait of unknown kind on"), "{text}");
    let json = report.to_json("h.anrscope").to_string();
    assert!(json.contains(wanted) && json.contains("\"kind\":\"unknown\""), "{json}");
    let chart = report.chart(file, &recording, &map).unwrap();
    assert!(report.to_html("h", &chart, None).contains(wanted));

    // Matrix's form: its stack is the snapshot's, as the trace shows it.
    let reports = issues(file, &recording, &map, &IssueOptions::default()).unwrap();
    assert_eq!(skipped(&reports.warnings), wanted);
    let anr = reports.lines.iter().find(|line| line.contains("SIGNAL_ANR")).expect("the system asked");
    assert!(anr.contains("com.example.Seen"), "{anr}");

    // The comparison.
    let warnings = DurationTable::default().add(file, &recording, &map).unwrap();
    assert_eq!(skipped(&warnings), wanted);
}

#[test]
fn a_recording_that_is_cut_anywhere_is_read_alike_by_all_pages() {
    let whole = hostile();
    let (file, map) = (Path::new("h.anrscope"), map());
    for part in [3, 40, 55, 70, 90, 97, 99] {
        let Ok(recording) = Recording::open(whole[..whole.len() * part / 100].to_vec()) else { continue };
        let text = |warnings: &[Warning]| {
            let skipped = warnings.iter().find(|warning| matches!(warning, Warning::Skipped { .. }));
            skipped.map(ToString::to_string)
        };
        let report = Report::build(file, &recording, &map).unwrap();
        let trace = trace(&recording, Format::Perfetto).0;
        let reports = issues(file, &recording, &map, &IssueOptions::default()).unwrap();
        let compared = DurationTable::default().add(file, &recording, &map).unwrap();
        let of_report = text(&report.warnings);
        for other in [text(&trace.warnings), text(&reports.warnings), text(&compared)] {
            assert_eq!(other, of_report, "{part} %");
        }
        assert_eq!(trace.counts.anrs, report.anrs.len() as u64, "{part} %");
    }
}

/// Stack bytes and registers are the user's data: pages have frames alone.
#[test]
fn nothing_of_a_captured_stack_is_on_any_page() {
    const MARKER: &[u8; 16] = b"SECRET-OF-A-USER";
    let words = [0, 8].map(|at| u64::from_le_bytes(MARKER[at..at + 8].try_into().unwrap()));
    let capture = NativeStack {
        number: 1,
        tid: 4242,
        asked: 105 * S,
        at: 105 * S,
        machine: Machine::X86_64,
        reason: Some(Reason::Stall),
        flags: 0,
        stack_end: 0x7fff_0000_1000,
        sp: 0x7fff_0000_0000,
        registers: std::array::from_fn(|i| if i == 16 { 0x1234 } else { words[i % 2] }),
        system_call: Some(SystemCall { number: 0, arguments: [words[0]; 6] }),
        mutex: (words[1], 0),
        previous: None,
        stack: MARKER.repeat(64),
    };
    let payload = capture.encode();
    assert!(has(&payload, "SECRET-OF-A-USER"));
    let bytes = RecordingBuilder::new(4242, "com.example")
        .last_alive(112 * S)
        .main("main", |t| {
            t.event(102 * S, Event::MessageBegin(Message::default())).enter(102 * S + MS, 2);
        })
        .section(SectionKind::NativeStack, &payload)
        .build();
    let recording = Recording::open(bytes).unwrap();
    let report = Report::build(Path::new("p"), &recording, &map()).unwrap();
    assert_eq!(report.native.stacks[0].stack.call_words().as_deref(), Some("in read"));
    let chart = report.chart(Path::new("p"), &recording, &map()).unwrap();
    let mut pages = vec![
        report.verbose().to_string(),
        report.to_json("p").to_string(),
        report.to_html("p", &chart, None),
    ]
    .into_iter()
    .map(String::into_bytes)
    .collect::<Vec<_>>();
    pages.extend([Format::Perfetto, Format::ChromeJson].map(|format| trace(&recording, format).1));
    let marks = words.iter().flat_map(|word| [format!("{word:x}"), word.to_string()]);
    let marks: Vec<String> = marks.chain(["SECRET".to_owned(), "OF-A-USER".to_owned()]).collect();
    for (at, page) in pages.iter().enumerate() {
        for mark in &marks {
            assert!(!has(page, mark), "page {at} has {mark}");
        }
    }
}
