//! Hangs of main outside of messages: input events, idle handlers, descriptor listeners and dialogs, which Android's native Looper calls
//! while the queue polls. Every form of a report names what main was in and the method, and none says that main was idle.

use std::path::Path;

use exporter::diff::{DurationTable, Kind};
use exporter::fleet::Row;
use exporter::matrix::{IssueOptions, issues};
use exporter::report::UnitKind;
use exporter::{MethodMap, Report};
use serde_json::{Value, json};
use test_support::recordings::{FORMS, S, clocks, export_with, sigquit};
use trace_format::event::{Message, Stall, TextId};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::verdict::{Confidence, Counters, Outcome, Policy, Sender, Verdict};
use trace_format::{Event, Recording};
use trace_rules::Rules;

const INPUT: &str = "android.view.InputEventReceiver";
const IDLE: &str = "android.os.MessageQueue$IdleHandler";
/// When the hang begins, when the system asks, and when main goes on.
const BEGUN: u64 = 20 * S;
const ASKED: u64 = 25 * S + S / 5;
const OVER: u64 = 27 * S;

fn map() -> MethodMap {
    let text = "1,1,com.example.Touch dispatchTouchEvent (Landroid.view.MotionEvent;)Z\n\
                2,1,com.example.Shop load ()V\n\
                3,1,com.example.Preload queueIdle ()Z\n\
                4,1,com.example.Feed onReadable (I)V\n\
                5,1,com.example.Program main ([Ljava.lang.String;)V\n";
    MethodMap::parse(Path::new("methodMapping.txt"), text.into()).unwrap()
}

/// What main does in a hang: what begins it, and what a report calls it.
struct Case {
    name: &'static str,
    unit: &'static str,
    kind: UnitKind,
    /// The method that hangs.
    method: &'static str,
    /// Begins and ends of all that is open, outermost first.
    open: fn(&mut RecordingBuilder) -> Vec<(Event, Event)>,
}

fn not_queued(b: &mut RecordingBuilder, target: &str, callback: &str) -> (Event, Event) {
    let (target, callback) = (b.text(target), b.text(callback));
    let message = Message { target, callback, handler: Message::NOT_QUEUED, ..Message::default() };
    (Event::MessageBegin(message), Event::MessageEnd)
}

fn call(id: u32) -> (Event, Event) {
    (Event::Enter(id), Event::Exit(id))
}

const CASES: [Case; 7] = [
    Case {
        name: "touch",
        unit: "android.view.InputEventReceiver: MotionEvent ACTION_DOWN",
        kind: UnitKind::NotQueued,
        method: "com.example.Shop.load",
        open: |b| vec![not_queued(b, INPUT, "MotionEvent ACTION_DOWN"), call(1), call(2)],
    },
    Case {
        name: "key",
        unit: "android.view.InputEventReceiver: KeyEvent ACTION_DOWN",
        kind: UnitKind::NotQueued,
        method: "com.example.Shop.load",
        open: |b| vec![not_queued(b, INPUT, "KeyEvent ACTION_DOWN"), call(2)],
    },
    Case {
        name: "idle handler",
        unit: "android.os.MessageQueue$IdleHandler: com.example.Preload",
        kind: UnitKind::NotQueued,
        method: "com.example.Preload.queueIdle",
        open: |b| {
            let class = b.text("com.example.Preload");
            vec![
                not_queued(b, IDLE, "com.example.Preload"),
                (Event::IdleBegin(class), Event::IdleEnd),
                call(3),
            ]
        },
    },
    Case {
        name: "idle handler that no shim follows",
        unit: "android.os.MessageQueue$IdleHandler: com.example.Preload",
        kind: UnitKind::Call,
        method: "com.example.Preload.queueIdle",
        open: |b| vec![(Event::IdleBegin(b.text("com.example.Preload")), Event::IdleEnd), call(3)],
    },
    Case {
        name: "listener of a descriptor",
        unit: "com.example.Feed.onReadable",
        kind: UnitKind::Call,
        method: "com.example.Shop.load",
        open: |_| vec![call(4), call(2)],
    },
    Case {
        name: "touch on a dialog that no shim follows",
        unit: "com.example.Touch.dispatchTouchEvent",
        kind: UnitKind::Call,
        method: "com.example.Shop.load",
        open: |_| vec![call(1), call(2)],
    },
    Case {
        name: "message",
        unit: "android.os.Handler: com.example.Click",
        kind: UnitKind::Message,
        method: "com.example.Shop.load",
        open: |b| {
            let (target, callback) = (b.text("android.os.Handler"), b.text("com.example.Click"));
            let message = Message { target, callback, ..Message::default() };
            vec![(Event::MessageBegin(message), Event::MessageEnd), call(2)]
        },
    },
];

/// How a recording of a hang goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    /// The recorder's timer and the system's signal know the unit; main goes on.
    Asked,
    /// The signal knows of no message, and the verdict is that of the system's error state; main goes on.
    AskedByAnOlderRecorder,
    /// The same without a verdict.
    AskedWithoutVerdict,
    /// Killed in the hang, without a report.
    Killed,
    /// Main goes on, without a report.
    Unnoticed,
}

const ENDS: [End; 5] =
    [End::Asked, End::AskedByAnOlderRecorder, End::AskedWithoutVerdict, End::Killed, End::Unnoticed];

fn message(t: &mut ThreadBuilder, target: TextId, from: u64, to: u64) {
    t.event(from, Event::MessageBegin(Message { target, what: 1, ..Message::default() }));
    t.event(to, Event::MessageEnd);
}

fn verdict(stuck_since: u64) -> Verdict {
    Verdict {
        sigquit: sigquit(ASKED, stuck_since),
        reconsidered: true,
        policy: Policy::Anrscope,
        outcome: Outcome::Anr,
        confidence: Confidence::High,
        sender: Sender::System,
        foreground: Some(true),
        counters: Counters::default(),
        reasons: Vec::new(),
    }
}

fn recording(case: &Case, end: End) -> RecordingBuilder {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).map_id(map().map_id());
    let target = b.text("android.os.Handler");
    let open = (case.open)(&mut b);
    let mut b = b.main("main", |t| {
        message(t, target, 11 * S, 11 * S + 1_000);
        for (begin, _) in &open {
            t.event(BEGUN, *begin);
        }
        if end != End::Killed {
            for (_, end) in open.iter().rev() {
                t.event(OVER, *end);
            }
            message(t, target, OVER + 1_000, OVER + 2_000);
        }
    });
    let since = if end == End::Asked { BEGUN } else { 0 };
    if matches!(end, End::Asked | End::AskedByAnOlderRecorder | End::AskedWithoutVerdict) {
        b = b.service(|t| {
            if end == End::Asked {
                t.event(25 * S, Event::Stall(Stall { stuck_since: BEGUN }));
            }
            t.event(ASKED, Event::Sigquit(sigquit(ASKED, since)));
            if end == End::Asked {
                t.event(OVER + 100, Event::Recovered(Stall { stuck_since: BEGUN }));
            }
        });
    }
    if matches!(end, End::Asked | End::AskedByAnOlderRecorder) {
        b = b.section(SectionKind::Verdict, &verdict(since).encode());
    }
    b.last_alive(if end == End::Killed { OVER } else { 28 * S })
}

fn report(b: RecordingBuilder) -> (Recording<Vec<u8>>, Report) {
    let recording = Recording::open(b.build()).unwrap();
    let report = Report::build(Path::new("a.anrscope"), &recording, &map()).unwrap();
    (recording, report)
}

/// No sentence of a report may claim this of a main that hung.
fn says_that_main_did_not_hang(page: &str) -> bool {
    ["DID NOT HANG", "did not hang", "No hang", "not blocked", "nothing to do", "idle time"]
        .iter()
        .any(|words| page.contains(words))
}

#[test]
fn a_hang_is_reported_with_its_unit_and_method_for_any_caller() {
    for case in &CASES {
        for end in ENDS {
            let (recording, report) = report(recording(case, end));
            let shown = format!("{}, {end:?}:\n{report}", case.name);
            let hang = report.hang.as_ref().unwrap_or_else(|| panic!("{shown}"));
            let unit = hang.unit.as_ref().unwrap_or_else(|| panic!("{shown}"));
            assert_eq!((unit.kind, &*unit.name, unit.since), (case.kind, case.unit, BEGUN), "{shown}");
            assert_eq!((hang.duration() / S, hang.ended), (7, end != End::Killed), "{shown}");
            assert_eq!(hang.method().unwrap().name, case.method, "{shown}");
            assert_eq!(hang.message().is_some(), case.kind == UnitKind::Message, "{shown}");
            let page = report.verbose().to_string();
            assert!(page.contains("main thread blocked for 7.0 s"), "{shown}");
            let label = if case.kind == UnitKind::Message { "in message  " } else { "in no message: " };
            assert!(page.contains(&format!("\n  {label}{}\n", case.unit)), "{shown}");
            assert!(page.contains(&format!("\n  in method   {} (since", case.method)), "{shown}");
            let json = report.to_json("a");
            assert!(!says_that_main_did_not_hang(&format!("{page}{json}")), "{shown}");
            assert_eq!(json["hang"]["unit"]["name"], case.unit, "{shown}");
            assert_eq!(json["hang"]["unit"]["kind"], json!(case.kind), "{shown}");
            let html = report.to_html("a", &exporter::report::Chart::default(), None);
            assert!(html.contains(case.unit), "{shown}");
            let row = Row::of("a", &recording, &report);
            assert_eq!((row.unit.as_deref(), row.hung), (Some(case.unit), true), "{shown}");
            assert_eq!(row.root.as_deref(), Some(case.method), "{shown}");
        }
    }
}

#[test]
fn an_anr_of_a_signal_without_a_message_starts_with_what_main_was_in() {
    for case in &CASES {
        for end in [End::Asked, End::AskedByAnOlderRecorder, End::AskedWithoutVerdict] {
            let (_, report) = report(recording(case, end));
            let [anr] = &report.anrs[..] else { panic!("{}, {end:?}: {report}", case.name) };
            assert_eq!((anr.since, anr.detected), (BEGUN, ASKED), "{}, {end:?}", case.name);
            assert_eq!(anr.subject(), "main thread blocked 5200 ms (SIGQUIT)");
            assert!(report.captures.is_empty());
        }
    }
}

#[test]
fn the_traces_call_a_unit_by_its_target_and_callback_and_the_anr_by_the_unit() {
    for case in &CASES {
        let (file, _) = export_with(&recording(case, End::AskedByAnOlderRecorder).build(), &map(), &FORMS[1]);
        let trace = String::from_utf8_lossy(&std::fs::read(&file.0).unwrap()).into_owned();
        assert!(case.kind == UnitKind::Call || trace.contains(case.unit), "{}", case.name);
        let json = &FORMS[2];
        let (file, _) = export_with(&recording(case, End::AskedByAnOlderRecorder).build(), &map(), json);
        let trace: Value = serde_json::from_slice(&std::fs::read(&file.0).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let named = |name: &str| events.iter().find(|e| e["name"].as_str() == Some(name));
        let anr = events.iter().find(|e| e["name"].as_str().is_some_and(|n| n.starts_with("ANR: "))).unwrap();
        let shown = anr["args"]["message"].as_str().unwrap();
        let of_older = "IdleHandler: com.example.Preload";
        assert!(shown == case.unit || shown == of_older, "{}: {shown}", case.name);
        if case.kind == UnitKind::NotQueued {
            let slice = named(case.unit).unwrap_or_else(|| panic!("{}", case.name));
            let (args, queued) = (&slice["args"], &slice["args"]["queued"]);
            assert!(args.get("what").is_none() && args.get("handler").is_none(), "{args}");
            assert_eq!(queued, false);
        }
    }
}

#[test]
fn the_loop_of_a_program_is_no_unit_and_what_it_calls_between_messages_is() {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let target = b.text("H");
    let looping = |until: u64| {
        move |t: &mut ThreadBuilder| {
            t.enter(10 * S, 5);
            message(t, target, 11 * S, 12 * S);
            t.enter(13 * S, 4).enter(13 * S, 2);
            if until > 0 {
                t.exit(until, 2).exit(until, 4);
            }
        }
    };
    let (_, hung) = report(b.main("main", looping(0)).last_alive(20 * S));
    let hang = hung.hang.as_ref().unwrap();
    assert_eq!(
        hang.unit.as_ref().map(|u| (&*u.name, u.since)),
        Some(("com.example.Feed.onReadable", 13 * S))
    );

    let b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let (_, quiet) = report(b.main("main", looping(14 * S)).last_alive(60 * S));
    assert!(quiet.hang.is_none(), "main polls since +4 s: {quiet}");
    assert_eq!((quiet.open.as_ref(), quiet.before.not_queued), (None, 0));
    let slowest: Vec<_> = quiet.slowest.iter().map(|s| &*s.name).collect();
    assert!(slowest.is_empty(), "too long ago: {slowest:?}");
}

#[test]
fn a_main_that_never_ran_a_message_has_no_unit_but_open_calls() {
    let b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).state(1).main("main", |t| {
        t.enter(10 * S, 5).enter(11 * S, 2).exit(19 * S, 2);
    });
    let b = b.service(|t| {
        t.event(20 * S, Event::Sigquit(sigquit(20 * S, 0)));
    });
    let (_, report) = report(b.last_alive(60 * S));
    assert!(report.hang.is_none() && report.anrs.is_empty() && report.slowest.is_empty());
    let page = report.to_string();
    let shown = "Long call in com.example (pid 7): main thread was in com.example.Shop.load for 8.0 s, then it continued\n\n  Main thread   in Program.main at the end, for 50.000 s so far\n";
    assert!(page.contains(shown), "{page}");
}

#[test]
fn a_long_call_of_a_main_without_messages_is_named_and_a_short_one_is_no_hang() {
    let page = |took: u64| {
        let b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).state(1).main("main", |t| {
            t.enter(10 * S, 5).enter(11 * S, 2).exit(11 * S + took, 2).exit(30 * S, 5);
        });
        report(b.last_alive(30 * S)).1.to_string()
    };
    let long = page(7 * S);
    let headline = "Long call in com.example (pid 7): main thread was in com.example.Shop.load for 7.0 s, then it continued\n";
    assert!(long.starts_with(headline), "{long}");
    assert!(!long.contains("ang in") && !long.contains("would be a hang"), "{long}");
    let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
    let row = "Main thread ran no message, so how long a call or wait may take is not known; in Shop.load for 7.0 s at +1.000 s";
    assert!(words.contains(row), "{long}");
    let short = page(4 * S);
    assert!(short.starts_with("No hang in com.example (pid 7): "), "{short}");
    let row = "  Main thread   ran no message; no wait, and no call inside its outermost one, took 5 s\n";
    assert!(short.contains(row), "{short}");
}

/// Samples of main's stack, as the recorder writes them: whole ones, innermost first.
fn samples(frames: &[&str], times: impl Iterator<Item = u64>) -> Vec<u8> {
    times.map(|at| format!("@{at} 0\n{}\n", frames.join("\n"))).collect::<String>().into_bytes()
}

const IN_TOUCH: [&str; 4] = [
    "com.example.Shop.load(Shop.java:7)",
    "android.view.InputEventReceiver.dispatchInputEvent(InputEventReceiver.java:295)",
    "android.os.MessageQueue.nativePollOnce(Native Method)",
    "android.os.Looper.loop(Looper.java:288)",
];

fn sampled(frames: &[&str]) -> RecordingBuilder {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let target = b.text("H");
    let b = b.main("main", |t| message(t, target, 11 * S, 12 * S)).service(|t| {
        t.event(ASKED, Event::Sigquit(sigquit(ASKED, 0)));
    });
    let times = (0..30).map(|i| BEGUN + i * S / 5);
    b.section(SectionKind::StackSamples, &samples(frames, times))
        .section(SectionKind::Verdict, &verdict(0).encode())
        .last_alive(28 * S)
}

#[test]
fn samples_that_are_not_of_the_poll_are_a_hang_where_nothing_was_recorded() {
    let (_, report) = report(sampled(&IN_TOUCH));
    let hang = report.hang.as_ref().unwrap();
    let unit = hang.unit.as_ref().unwrap();
    let shown = (unit.kind, &*unit.name, unit.since);
    assert_eq!(shown, (UnitKind::Sampled, "android.view.InputEventReceiver.dispatchInputEvent", BEGUN));
    let page = report.to_string();
    assert!(!says_that_main_did_not_hang(&page), "{page}");
    assert!(page.contains("  Main thread   Shop.load (Shop.java:7)\n"), "the cause knows the method: {page}");
}

#[test]
fn samples_of_the_poll_are_an_idle_main() {
    let (_, report) = report(sampled(&IN_TOUCH[2..]));
    assert!(report.hang.is_none(), "{report}");
    assert!(report.to_string().contains("main had nothing to do"), "{report}");
}

#[test]
fn a_main_that_was_busy_for_a_moment_is_not_called_idle() {
    let busy = |open_at: u64| {
        let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
        let target = b.text("H");
        let b = b.main("main", |t| {
            message(t, target, 11 * S, 11 * S + 1_000);
            t.enter(open_at, 1).exit(ASKED + S / 2, 1);
        });
        let b = b.service(|t| {
            t.event(ASKED, Event::Sigquit(sigquit(ASKED, 0)));
        });
        report(b.section(SectionKind::Verdict, &verdict(0).encode()).last_alive(28 * S)).1
    };
    let report = busy(ASKED - S / 2);
    let (page, json) = (report.to_string(), report.to_json("a"));
    assert!(!says_that_main_did_not_hang(&page), "{page}");
    assert!(!says_that_main_did_not_hang(&json.to_string()), "{json}");
    assert_eq!(json["open"]["name"], "com.example.Touch.dispatchTouchEvent");
    assert!(page.contains("  Message       none; main was in Touch.dispatchTouchEvent, since "), "{page}");
    let page = busy(ASKED + S / 4).to_string();
    assert!(page.contains("main had nothing to do"), "it polled when the system asked: {page}");
}

#[test]
fn builds_are_compared_by_units_too() {
    let (recording, _) = report(recording(&CASES[0], End::Asked));
    let mut tallies = DurationTable::default();
    tallies.add(Path::new("a"), &recording, &map()).unwrap();
    let tallies = tallies.finish();
    let touch = tallies.get(Kind::Unit, CASES[0].unit).unwrap();
    assert_eq!((touch.count, touch.total, Kind::Unit.word()), (1, 7 * S, "unit"));
    assert!(tallies.get(Kind::Message, CASES[0].unit).is_none());
}

#[test]
fn our_rules_report_a_unit_as_a_message_and_matrixs_do_not_see_it() {
    let details = |case: &Case, rules| -> Vec<String> {
        let (recording, _) = report(recording(case, End::Asked));
        let options = IssueOptions { rules: Some(rules), ..IssueOptions::default() };
        let found = issues(Path::new("a"), &recording, &map(), &options).unwrap().lines;
        let of_main = found.iter().map(|json| serde_json::from_str::<Value>(json).unwrap());
        of_main.filter_map(|issue| issue["detail"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(details(&CASES[0], Rules::Anrscope), ["LAG", "ANR", "SIGNAL_ANR", "NORMAL"]);
    assert_eq!(details(&CASES[2], Rules::Anrscope), ["LAG_IDLE_HANDLER", "ANR", "SIGNAL_ANR", "NORMAL"]);
    assert_eq!(details(&CASES[0], Rules::Matrix), ["SIGNAL_ANR"]);
    assert_eq!(details(&CASES[2], Rules::Matrix), ["LAG_IDLE_HANDLER", "SIGNAL_ANR"]);
}
