//! The report answers: what hung, for how long, under which message, in which method, who held what.

use std::fmt::Write as _;
use std::path::Path;
use test_support::recordings;
use test_support::scenario;

use exporter::report::OpenItemKind;
use exporter::{MethodMap, Report, Warning};
use proptest::prelude::*;
use test_support::recordings::{MS, S, clocks, map, sigquit, stalled, verdict};
use trace_format::event::{Change, Control, Folded, Message, Stall, Standstill, Usage, Wait, WaitKind};
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;
use trace_format::verdict::{Outcome, Verdict};
use trace_format::{Event, MapId, Recording};

fn report(builder: RecordingBuilder) -> Report {
    let recording = Recording::open(builder.build()).unwrap();
    Report::build(Path::new("a.anrscope"), &recording, &map()).unwrap()
}

#[test]
fn a_lock_that_a_worker_owns() {
    let report = report(stalled());
    let hang = report.hang.as_ref().unwrap();
    assert_eq!(hang.message(), Some("android.os.Handler: com.example.Main$PerformClick"));
    // Detected after 5.04 s, but seen alive for 8.
    assert_eq!((hang.since, hang.duration(), hang.ended), (102 * S, 8 * S, false));
    assert_eq!(hang.method().unwrap().name, "com.example.Sync.save");
    let wait = hang.wait.as_ref().unwrap();
    assert_eq!((wait.kind, wait.class.as_deref()), (WaitKind::Monitor, Some("com.example.Store")));
    let owner = wait.owner.as_ref().unwrap();
    assert_eq!((owner.name.as_str(), owner.tid), ("worker-1", 4250));
    assert_eq!(owner.stack.last().unwrap().name, "com.example.Db.write");
    assert_eq!((report.counts.frames, report.counts.messages, report.counts.methods), (60, 61, 62));
    assert_eq!(report.anrs.len(), 1);

    let page = report.to_string();
    for line in [
        "ANR in com.example.app (pid 4242): main thread blocked for 8.0 s; the process was then killed, or still runs\n",
        "  Main thread   com.example.Sync.save (Sync.java, from line 31) waits for the lock of\n                com.example.Store\n",
        "  Lock owner    \"worker-1\" (tid 4250) owns it while it runs Db.write",
        "  Message       Main$PerformClick (Handler callback)\n",
        "  8.000 s    [waiting for monitor] ",
        "  8.000 s  > Sync.save (Sync.java, from line 31) ",
        "  System        SIGQUIT after 5.04 s from pid 1234, forwarded to the Signal Catcher; ",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    assert!(
        page.lines().count() < 30 && page.lines().skip(1).all(|line| line.chars().count() <= 100),
        "{page}"
    );
    let verbose = report.verbose().to_string();
    for line in [
        "in message  android.os.Handler: com.example.Main$PerformClick",
        "in method   com.example.Sync.save (since +2.000 s)",
        "waiting     for the lock of com.example.Store (0xbeef) (since +2.000 s)",
        "owned by    thread \"worker-1\" (tid 4250), which was in com.example.Db.write",
        "SIGQUIT from pid 1234 (uid 1000), 5.040 s after the message began; forwarded to the Signal Catcher",
        "the watchdog noticed after 5.000 s",
    ] {
        assert!(verbose.contains(line), "{line:?} is not in\n{verbose}");
    }
    assert!(verbose.starts_with(&page), "{verbose}");
}

#[test]
fn a_process_that_never_hung_is_reported_as_such() {
    let quiet = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).state(1).main("main", |t| {
        // A desktop's main method is open for the whole run, which is no hang.
        t.enter(10 * S, 1).enter(11 * S, 2).exit(12 * S, 2);
    });
    let report = report(quiet.last_alive(60 * S).service(|t| {
        t.event(20 * S, Event::Sigquit(sigquit(20 * S, 0)));
    }));
    assert!(!report.hung() && report.anrs.is_empty());
    let page = report.to_string();
    assert!(
        page.starts_with("No hang in com.example (pid 7): 50.0 s recorded; the process ended normally\n"),
        "{page}"
    );
    assert!(page.contains("  System        1 SIGQUIT for a thread dump only\n"), "{page}");
    assert!(!page.contains("Cause:"), "{page}");
    let verbose = report.verbose().to_string();
    assert!(verbose.contains("+10.000 s  by pid 1234 (uid 1000)"), "{verbose}");
}

#[test]
fn waits_are_reported_for_a_main_without_messages() {
    let mut b = RecordingBuilder::new(7, "com.example.Main").start(clocks(10 * S)).state(1);
    let class = b.text("com.example.Store");
    let wait = |kind, owner| Event::WaitBegin(Wait { owner, lock: 0xbeef, class, ..Wait::new(kind) });
    let report = report(
        b.main("main", |t| {
            t.enter(10 * S, 1).event(11 * S, wait(WaitKind::Monitor, 2)).event(17 * S, Event::WaitEnd);
            // Made of another one inside, and too short.
            t.event(20 * S, wait(WaitKind::Join, 0)).event(20 * S + MS, wait(WaitKind::ObjectWait, 0));
            t.event(21 * S, Event::WaitEnd).event(22 * S, Event::WaitEnd);
            t.event(23 * S, wait(WaitKind::Sleep, 0)).event(23 * S + 16 * MS, Event::WaitEnd).exit(24 * S, 1);
        })
        .thread("worker-1", 4250, |t| {
            t.enter(10 * S, 2).exit(18 * S, 2);
        })
        .last_alive(60 * S),
    );
    let page = report.to_string();
    assert!(
        page.starts_with(
            "Hang in com.example.Main (pid 7): main thread blocked for 6.0 s, then it continued\n"
        ),
        "{page}"
    );
    for line in [
        "  Main thread   main waits for the lock of com.example.Store\n",
        "  Long waits    6.0 s at +1.000 s for the lock of Store, owned by \"worker-1\", in Main.onClick\n",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    let page = report.verbose().to_string();
    let expected = "MAIN'S LONGEST WAITS\n\
        \x20    6.000 s  at +1.000 s  for the lock of com.example.Store (0xbeef), owned by \"worker-1\", in METHOD\n\
        \x20    2.000 s  at +10.000 s  in Thread.join on com.example.Store (0xbeef), in METHOD\n\n"
        .replace("METHOD", "com.example.Main.onClick");
    assert!(page.contains(&expected), "{page}");
}

#[test]
fn a_hang_that_ended_is_reported_with_its_end_and_what_was_slow_before() {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let target = b.text("H");
    let message = |what| Event::MessageBegin(Message { target, what, ..Message::default() });
    let report = report(
        b.main("main", |t| {
            t.event(11 * S, message(1)).event(11 * S + 300 * MS, Event::MessageEnd);
            t.event(20 * S, message(2)).event(20 * S + 90 * MS, Event::MessageEnd);
            t.event(21 * S, message(3)).event(21 * S + 5 * MS, Event::MessageEnd);
            t.event(25 * S, message(4)).enter(25 * S, 1).exit(32 * S, 1).event(32 * S, Event::MessageEnd);
            t.event(33 * S, message(5)).event(34 * S, Event::MessageEnd);
        })
        .service(|t| {
            t.event(30 * S, Event::Stall(Stall { stuck_since: 25 * S }))
                .event(32 * S + MS, Event::Recovered(Stall { stuck_since: 25 * S }));
        }),
    );
    let hang = report.hang.as_ref().unwrap();
    assert_eq!((hang.message(), hang.duration(), hang.ended), (Some("H: #4"), 7 * S + MS, true));
    assert_eq!(
        hang.stack.iter().map(|f| f.kind).collect::<Vec<_>>(),
        [OpenItemKind::Message, OpenItemKind::Method]
    );
    let slow: Vec<_> = report.slowest.iter().map(|s| (s.name.as_str(), s.duration)).collect();
    assert_eq!(slow, [("H: #2", 90 * MS)], "the first is too old, the third too quick");
    let page = report.to_string();
    assert!(page.contains("blocked for 7.0 s, then it continued\n") && page.contains("suspected"), "{page}");
}

#[test]
fn two_threads_that_wait_for_each_other() {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let (a, c, target) = (b.text("A"), b.text("C"), b.text("H"));
    let wait =
        |owner, class| Event::WaitBegin(Wait { owner, lock: 1, class, ..Wait::new(WaitKind::Monitor) });
    let report = report(
        b.main("main", |t| {
            t.event(11 * S, Event::MessageBegin(Message { target, ..Message::default() }));
            t.enter(11 * S, 2).event(11 * S, wait(2, a));
        })
        .thread("worker", 8, |t| {
            t.enter(10 * S, 3).event(12 * S, wait(1, c));
        })
        .last_alive(15 * S),
    );
    // No detector fired, but main was in one message for the last 4 s.
    let page = report.to_string();
    assert!(page.starts_with("Hang in com.example (pid 7): main thread blocked for 4.0 s; "), "{page}");
    for line in [
        "\nCause: DEADLOCK (high confidence)\n",
        "  Main thread   Sync.save (Sync.java, from line 31) waits for the lock of A\n",
        "  Deadlock      \"main\" waits for \"worker\" waits for \"main\"\n",
        "  Lock owner    \"worker\" (tid 8) itself waits for the lock of C in Worker.run\n",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    let verbose = report.verbose().to_string();
    assert!(verbose.contains("which itself waits for the lock of C, which \"main\" owns"), "{verbose}");
}

#[test]
fn a_map_of_a_different_build_is_rejected_with_a_warning() {
    let recording = Recording::open(stalled().map_id(MapId(1)).build()).unwrap();
    let report = Report::build(Path::new("a.anrscope"), &recording, &map()).unwrap();
    let [Warning::MapOfOtherBuild { recorded: MapId(1), .. }] = report.warnings[..] else {
        panic!("{:?}", report.warnings)
    };
    assert_eq!(report.hang.as_ref().unwrap().method().unwrap().name, "method 2");
    assert!(report.to_string().contains("  Warning       a.anrscope: the method map is of another build"));
    let report = Report::build(Path::new("a"), &recording, &MethodMap::empty()).unwrap();
    assert!(matches!(report.warnings[..], [Warning::NoMap { .. }]));
}

#[test]
fn a_recording_without_a_main_thread_or_anything_else() {
    let page = report(RecordingBuilder::new(7, "com.example")).to_string();
    assert!(page.starts_with("No hang in com.example (pid 7): "), "{page}");
}

#[test]
fn a_verdict_is_reported_with_its_reasons_and_the_rule_by_its_name() {
    let page = report(stalled().section(SectionKind::Verdict, &verdict(Outcome::Anr, true).encode()))
        .verbose()
        .to_string();
    for line in [
        "  verdict     ANR (high confidence): main blocked for 5.040 s in android.os.Handler: com.example.Main$PerformClick\n",
        "              sent by the system (uid 1000)\n",
        "              main has been in one message for 5040 ms: stuck (5000 ms or more)\n",
        "  ANR         SIGQUIT from pid 1234 (uid 1000), 5.040 s after the message began; forwarded to the Signal Catcher\n",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    let page = report(stalled()).verbose().to_string();
    assert!(page.contains("verdict     ANR by the 2 s rule"), "{page}");
    assert!(page.contains("rule (no verdict recorded)\n"), "{page}");

    let requested = verdict(Outcome::DumpRequested, false);
    let page = report(stalled().section(SectionKind::Verdict, &requested.encode())).verbose().to_string();
    assert!(
        page.contains("+7.040 s  by pid 1234 (uid 1000)\n              dump requested (medium"),
        "{page}"
    );
    assert!(page.contains("SIGQUIT: 3 received, 3 forwarded, 0 not forwarded; 1 re-sent for"), "{page}");
    assert!(page.contains("suspected: the watchdog noticed"), "{page}");
}

#[test]
fn the_page_has_the_cost_of_recording_and_what_is_missing_on_purpose() {
    let control = |change, method, rate| Event::Control(Control { change, method, rate });
    let mut b = RecordingBuilder::new(7, "com.example").map_id(map().map_id()).start(clocks(10 * S));
    let target = b.text("H");
    let usage =
        |ran, waited| Event::Usage(Usage { tid: 7, state: b'S', ran, waited, voluntary: 3, involuntary: 9 });
    let b = b
        .main("main", |t| {
            t.enter(10 * S, 1).exit(11 * S, 1);
            t.event(20 * S, Event::MessageBegin(Message { target, what: 1, ..Message::default() }));
        })
        .service(|t| {
            t.event(12 * S, control(Change::Paused, 0, 0))
                .event(14 * S, control(Change::Resumed, 0, 0))
                .event(15 * S, control(Change::OverBudget, 5, 300_000))
                .event(16 * S, control(Change::MethodOff, 4, 0))
                .event(22 * S, usage(S, 0))
                .event(24 * S, usage(S, 1_500 * MS));
        });
    let cost = b"clock=vDSO\nns_per_event_coarse=2.50\nns_per_event_precise=40.00\n";
    let page = report(b.section(SectionKind::SelfMeasurement, cost).last_alive(25 * S)).verbose().to_string();
    for line in [
        "main thread blocked for 5.0 s; ",
        "  CPU           runnable for 75 % of 2.0 s (ran 0 ms, runnable 1.5 s)\n",
        " recorded, paused 1 time, 2 methods switched off, ",
        "  CPU         runnable: of 2.000 s polled main ran for 0.000 ms and was runnable for 1.500 s\n              \
         0 voluntary and 0 involuntary context switches\n",
        "  cost, an estimate: 40.0 ns an event when measured at the start (vDSO), 2.5 ns with coarse time: about 0 % of main's \
         time, and for all threads 0 % of one CPU\n",
        "  paused from +2.000 s to +4.000 s: what is missing there is not idle time\n",
        "  not recorded since +5.000 s: com.example.List.draw (its calls are short, and 300000 events a second were over \
         the budget)\n",
        "  not recorded since +6.000 s: com.example.Db.write (asked for)\n",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    let page = report(stalled()).verbose().to_string();
    assert!(!page.contains("cost") && !page.contains("CPU  "), "{page}");
}

#[test]
fn events_that_found_no_room_are_in_every_form_of_a_report() {
    let build = |dropped| {
        let b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).dropped(dropped);
        b.main("main", |t| {
            t.enter(10 * S, 1).exit(11 * S, 1);
        })
    };
    let expected = "12 events of threads that found no room were not recorded";
    let report_of = report(build(12));
    assert!(report_of.to_string().contains(&format!("\n                {expected}")), "{report_of}");
    let json = report_of.to_json("a");
    assert_eq!(json["recorder"]["dropped"], 12);
    assert!(json["warnings"].to_string().contains(expected), "{json}");
    assert!(report_of.to_html("a", &exporter::report::Chart::default(), None).contains(expected));
    assert!(report(build(1)).to_string().contains("1 event of threads that found no room was not recorded"));
    let none = report(build(0));
    assert!(!none.to_string().contains("no room") && none.recorder.dropped == 0);

    let bytes = build(12).build();
    for options in &recordings::FORMS {
        let (file, summary) = recordings::export_to_file(&bytes, options);
        assert!(summary.warnings.iter().any(|w| w.to_string().contains(expected)), "{:?}", summary.warnings);
        assert_eq!(summary.warnings.iter().filter(|w| matches!(w, Warning::Dropped { .. })).count(), 1);
        assert_eq!(summary.counts.dropped, 12);
        let trace = std::fs::read(&file.0).unwrap();
        let shows = |text: &str| trace.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(options.level > 0 || shows("events_dropped"), "the recorder's track is there for it");
    }
}

#[test]
fn frames_whose_metrics_the_system_dropped_are_in_every_form_of_a_report() {
    let of = |values: &[f64]| {
        let mut builder = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
        let counter = builder.text(trace_format::android::FRAME_METRICS_DROPPED);
        let main = builder.main("main", |t| {
            t.enter(10 * S, 1).exit(11 * S, 1);
        });
        report(main.thread("anrscope-frames", 9, |t| {
            for (at, value) in (11..).zip(values) {
                t.event(at * S, Event::Counter(counter, *value));
            }
        }))
    };
    let dropped = of(&[2.0, 12.0, f64::NAN]);
    assert!(dropped.to_string().contains("FrameMetrics of 12 frames dropped by the system"), "{dropped}");
    let details = dropped.verbose().to_string();
    assert!(details.contains("\n  the system dropped the metrics of 12 frames\n"), "{details}");
    assert_eq!(dropped.to_json("x")["counts"]["frame_metrics_dropped"], 12);
    let hostile = of(&[f64::INFINITY, -1.0]).to_json("x");
    assert_eq!(hostile["counts"]["frame_metrics_dropped"], 0);
    let none = of(&[]);
    assert!(!none.to_string().contains("FrameMetrics"), "{none}");
    assert_eq!(none.to_json("x")["counts"]["frame_metrics_dropped"], 0);
}

#[test]
fn what_the_platform_stored_is_in_every_form_of_a_report_and_so_is_why_it_did_not() {
    let request = format!(
        "trigger=app_request_running_trace\noutcome=requested\ntag=anrscope-7-0\nasked_ns={}\n",
        13 * S
    );
    let mut builder = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).main("main", |t| {
        t.enter(10 * S, 1).exit(18 * S, 1);
    });
    for payload in [
        &request,
        "trigger=app_request_running_trace\ntag=anrscope-7-0\npath=/files/profiling/stall.perfetto-trace\nbytes=70\n",
        &request,
        // The trigger is an ANR, and it is stored, where nothing else is said.
        "path=/files/profiling/\u{1b}[31manr.perfetto-trace\nbytes=9\n",
        "trigger=oom\npath=/files/profiling/heap.perfetto-java-heap-dump\nbytes=8\n",
        "trigger=anomaly\ntag=memory_limit\noutcome=rate_limit_system\n",
    ] {
        builder = builder.section(SectionKind::PlatformProfile, payload.as_bytes());
    }
    let report = report(builder);
    let page = report.to_string();
    let first =
        "Platform      system trace of the stall: stall.perfetto-trace (70 bytes) on the device; `anrscope";
    assert!(page.contains(first), "{page}");
    let details = report.verbose().to_string();
    let silent = "no system trace of the stall, requested at +3.000 s: the platform did not answer, as where";
    for line in [
        "\nWHAT THE PLATFORM STORED\n  system trace of the stall: stall.perfetto-trace (70 bytes) on the device; ",
        "  heap dump of the OutOfMemoryError: heap.perfetto-java-heap-dump (8 bytes) on the device\n",
        silent,
        "  no profile of an anomaly (memory_limit): the rate limit of the system was reached\n",
        "  /files/profiling/heap.perfetto-java-heap-dump\n",
    ] {
        assert!(details.contains(line), "{line}\n{details}");
    }
    assert_eq!(details.matches(silent).count(), 1, "the first request was answered");
    assert!(details.contains("system trace of the ANR: ") && !details.contains('\u{1b}'), "{details}");
    let json = report.to_json("x");
    let word = |list: &str, at: usize, key: &str| json[list][at][key].clone();
    assert_eq!(json["profiles"].as_array().map(Vec::len), Some(3));
    assert_eq!(word("profiles", 0, "tag"), "anrscope-7-0");
    assert_eq!(
        (word("profiles", 1, "trigger"), word("profiles", 1, "tag")),
        ("anr".into(), serde_json::Value::Null)
    );
    assert_eq!(json["profiles_missing"].as_array().map(Vec::len), Some(2));
    assert_eq!(word("profiles_missing", 0, "asked_ns"), 13 * S);
    assert_eq!(word("profiles_missing", 1, "outcome"), "rate_limit_system");
}

#[test]
fn an_anr_that_finds_main_in_no_message_is_no_hang_of_main() {
    let mut elsewhere = verdict(Outcome::Anr, true);
    elsewhere.sigquit = sigquit(11 * S, 0);
    let quiet = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).main("main", |t| {
        t.enter(10 * S, 1).exit(11 * S, 1);
    });
    let quiet = quiet.service(|t| {
        t.event(11 * S, Event::Sigquit(elsewhere.sigquit));
    });
    let report = report(quiet.section(SectionKind::Verdict, &elsewhere.encode()).last_alive(60 * S));
    assert!(!report.hung() && report.anrs.len() == 1);
    let page = report.verbose().to_string();
    assert!(
        page.starts_with("ANR in com.example (pid 7): main thread was not blocked when the system asked\n"),
        "{page}"
    );
    assert!(page.contains("\nANRS\n"), "{page}");
    assert!(page.contains("+1.000 s  main thread not seen blocked (SIGQUIT)"), "{page}");
}

/// One case or two of each cause.
const PAGES: [&str; 16] = [
    "busy-that-ended",
    "busy-by-samples",
    "storm-of-one-handler",
    "lock-held-by-a-worker-that-reads",
    "lock-in-a-circle",
    "lock-told-by-the-dump-alone",
    "binder-call-to-a-slow-service",
    "binder-told-by-samples",
    "database-write",
    "future-get-on-main",
    "heap-nearly-full",
    "starved-in-the-background-group",
    "frozen-in-the-cache",
    "native-decoder",
    "another-process-of-the-app",
    "idle-when-the-system-asked",
];

/// `ANRSCOPE_WRITE_DATA=1` regenerates them; read them as a tired engineer would.
#[test]
fn the_page_of_each_cause_is_what_it_was() {
    let (cases, _) = scenario::cases(include_str!("../data/causes.txt"));
    let mut pages = String::new();
    for name in PAGES {
        let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
        let (recording, map) = scenario::recording(case);
        let page = Report::build(Path::new(name), &recording, &map).unwrap();
        let _ = write!(pages, "######## {name}\n{page}\n");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pages.txt");
    if std::env::var_os("ANRSCOPE_WRITE_DATA").is_some() {
        std::fs::write(&file, &pages).unwrap();
        return;
    }
    let was = std::fs::read_to_string(&file).unwrap();
    for (was, is) in was.split("######## ").zip(pages.split("######## ")) {
        assert_eq!(is, was);
    }
    assert_eq!(pages.len(), was.len());
}

proptest! {
    #[test]
    fn any_verdict_section_gives_a_page_of_bounded_length(
        bytes: Vec<u8>,
        lines in "((signal|stuck_since|si_pid)=[0-9]{1,20}\n|reason=.{0,300}\n|verdict=(anr|duplicate)\n){0,40}",
    ) {
        let forged = format!("{lines}signal=107040000000\nverdict=anr\nconfidence=low\n");
        let page = report(
            stalled()
                .section(SectionKind::Verdict, &bytes)
                .section(SectionKind::Verdict, forged.as_bytes())
                .section(SectionKind::Verdict, &verdict(Outcome::Duplicate, true).encode()),
        )
        .verbose()
        .to_string();
        prop_assert!(page.len() < 32 * 1024, "{}", page.len());
        prop_assert!(Verdict::parse(&bytes).is_none());
    }
}

/// Main is busy in a loop for 8 s, of which the last 6 s are left. What the loop calls is too short to be recorded.
fn busy() -> RecordingBuilder {
    let folded = |since: u64, calls| {
        Event::Folded(Folded { calls, since, hot: [(4, 900_000), (5, 80_000), (0, 0), (0, 0)] })
    };
    let mut b = RecordingBuilder::new(7, "com.example").map_id(map().map_id()).start(clocks(100 * S));
    let target = b.text("H");
    b.main("main", |t| {
        t.checkpoints(30).coarse();
        t.event(100 * S, Event::MessageBegin(Message::default())).event(101 * S, Event::MessageEnd);
        t.event(102 * S, Event::MessageBegin(Message { target, what: 7, ..Message::default() }));
        t.enter(102 * S, 1).enter(102 * S, 2).new_block(104 * S);
        for i in 0..600 {
            let at = 104 * S + i * 10 * MS;
            t.event(at, folded(at.saturating_sub(10 * MS).max(104 * S), 100_000));
            t.enter(at, if i % 7 == 0 { 5 } else { 4 }).exit(at + MS, if i % 7 == 0 { 5 } else { 4 });
        }
        t.enter(110 * S - MS, 5)
            .exit(110 * S, 5)
            .exit(110 * S, 2)
            .exit(110 * S, 1)
            .event(110 * S, Event::MessageEnd);
        t.lose(0..1);
    })
    .thread("worker-1", 4250, |t| {
        t.checkpoints(30).enter(100 * S, 3).new_block(109 * S).exit(110 * S, 3).lose(0..1);
    })
    .service(|t| {
        t.event(107 * S, Event::Stall(Stall { stuck_since: 102 * S }));
        t.event(108 * S, Event::Standstill(Standstill { since: 107 * S, until: 107 * S + 500 * MS }));
    })
    .last_alive(110 * S)
}

#[test]
fn a_busy_hang_is_reported_with_its_loop_and_callees() {
    let report = report(busy());
    let page = report.verbose().to_string();
    for line in [
        "                calls Db.write (90 %), List.draw (8 %) of about 59,900,000 calls too short to record\n",
        "  Recording     6.0 s of main's 10.0 s recorded, ",
        "  recorded    6.000 s of main's 10.000 s, from ",
        "in message  message (began before the record)",
        "in method   com.example.Sync.save (since before +4.000 s), open for 6.000 s of 6.000 s",
        "called      com.example.Db.write (90 %), com.example.List.draw (8 %) of about 59,900,000 calls too short to record",
        "time        coarse time stood still for 500.0 ms of the ",
        "90 % of about 59,900,000 calls too short to record were com.example.Db.write",
        "1.000 s of 10.000 s of thread \"worker-1\" (tid 4250) are recorded",
        "coarse time stood still for 500.0 ms in all, 1 time: calls look short there, or are missing",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    let hang = report.hang.as_ref().unwrap();
    let chain: Vec<_> = hang.busy.as_ref().unwrap().chain.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(chain, ["com.example.Main.onClick", "com.example.Sync.save"]);
    let cause = report.cause.as_ref().unwrap();
    assert_eq!((cause.kind.word(), cause.root.as_deref()), ("busy-method", Some("com.example.Sync.save")));
}

#[test]
fn measurements_are_reported_as_measured_and_implausible_rates_are_dropped() {
    let page = report(
        busy()
            .service(|t| {
                let method = |method| Control { change: Change::OverBudget, method, rate: 1_015_000_000_000_000 };
                t.event(109 * S, Event::Control(method(4)));
            })
            .section(SectionKind::SelfMeasurement, b"clock=vDSO\nns_per_event_coarse=3\nns_per_event_precise=40\n")
            .section(SectionKind::Overhead, b"104000000000 cost 30 1000 4\n105000000000 off 5 90000\n108000000000 cost 10 100 2\n108000000000 on 5\n"),
    )
    .verbose()
    .to_string();
    for line in [
        "  cost, measured: 2.4 % of the threads' time, 4 % at most (at +4.000 s: 30.0 ns an event, 1,000 events a second)\n",
        "  not recorded from +5.000 s to +8.000 s: com.example.List.draw (90000 calls a second cost more than they are worth)\n",
        "  not recorded since +9.000 s: com.example.Db.write (its calls are short, and they were over the budget)\n",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    assert!(!page.contains("cost, an estimate") && !page.contains("1015000"), "{page}");
}

#[test]
fn calls_are_not_reported_while_coarse_time_stood_still() {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(100 * S));
    let target = b.text("H");
    let page = report(
        b.main("main", |t| {
            t.event(101 * S, Event::MessageBegin(Message { target, ..Message::default() }));
        })
        .service(|t| {
            t.event(109 * S, Event::Standstill(Standstill { since: 102 * S, until: 108 * S }));
        })
        .last_alive(110 * S),
    )
    .verbose()
    .to_string();
    assert!(page.contains("in method   (not recorded)\n"), "{page}");
    assert!(page.contains("coarse time stood still for 6.000 s of the 9.000 s"), "{page}");
    assert!(
        page.contains("coarse time stood still for 6.000 s: what main called meanwhile is not recorded"),
        "{page}"
    );
    assert!(!page.contains("no instrumented method was open"), "{page}");
}
