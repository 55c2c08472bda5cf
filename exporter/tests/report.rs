//! The report answers: what hung, for how long, under which message, in which method, who held what.

mod common;

use std::path::Path;

use common::{MS, S, clocks, map, sigquit, stalled};
use exporter::report::FrameKind;
use exporter::{MethodMap, Report, Warning};
use trace_format::event::{Message, Stall, Wait, WaitKind};
use trace_format::synth::RecordingBuilder;
use trace_format::{Event, MapId, Recording};

fn report(builder: RecordingBuilder) -> Report {
    let recording = Recording::open(builder.build()).unwrap();
    Report::build(Path::new("a.anrscope"), &recording, &map()).unwrap()
}

#[test]
fn a_lock_that_a_worker_holds() {
    let report = report(stalled());
    let hang = report.hang.as_ref().unwrap();
    assert_eq!(hang.message.as_deref(), Some("android.os.Handler: com.example.Main$PerformClick"));
    // Detected after 5.04 s, but seen alive for 8.
    assert_eq!((hang.since, hang.duration(), hang.ended), (102 * S, 8 * S, false));
    assert_eq!(hang.method().unwrap().name, "com.example.Sync.save");
    let wait = hang.wait.as_ref().unwrap();
    assert_eq!((wait.kind, wait.class.as_deref()), (WaitKind::Monitor, Some("com.example.Store")));
    let holder = wait.holder.as_ref().unwrap();
    assert_eq!((holder.name.as_str(), holder.tid), ("worker-1", 4250));
    assert_eq!(holder.stack.last().unwrap().name, "com.example.Db.write");
    assert_eq!((report.counts.frames, report.counts.messages, report.counts.methods), (60, 61, 62));
    assert_eq!(report.anrs.len(), 1);

    let page = report.to_string();
    for line in [
        "MAIN THREAD HUNG for 8.000 s, to the last moment recorded",
        "in message  android.os.Handler: com.example.Main$PerformClick",
        "in method   com.example.Sync.save (since +2.000 s)",
        "waiting     for the lock of com.example.Store (0xbeef) (since +2.000 s)",
        "held by     thread \"worker-1\" (tid 4250), which was in com.example.Db.write",
        "SIGQUIT from pid 1234 (uid 1000), 5.040 s after the message began; forwarded: catcher",
        "our watchdog noticed after 5.000 s",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    assert!(page.lines().count() < 60, "one page:\n{page}");
}

#[test]
fn a_process_that_never_hung_says_so() {
    let quiet = RecordingBuilder::new(7, "com.example").start(clocks(10 * S)).state(1).main("main", |t| {
        // A desktop's main method is open for the whole run, which is no hang.
        t.enter(10 * S, 1).enter(11 * S, 2).exit(12 * S, 2);
    });
    let report = report(quiet.last_alive(60 * S).service(|t| {
        t.event(20 * S, Event::Sigquit(sigquit(20 * S, 0)));
    }));
    assert!(!report.hung() && report.anrs.is_empty());
    let page = report.to_string();
    assert!(page.contains("NOTHING HUNG"), "{page}");
    assert!(page.contains("+10.000 s  by pid 1234 (uid 1000)"), "{page}");
}

#[test]
fn a_hang_that_ended_is_told_with_its_end_and_what_was_slow_before() {
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
    assert_eq!((hang.message.as_deref(), hang.duration(), hang.ended), (Some("H: #4"), 7 * S + MS, true));
    assert_eq!(
        hang.stack.iter().map(|f| f.kind).collect::<Vec<_>>(),
        [FrameKind::Message, FrameKind::Method]
    );
    let slow: Vec<_> = report.slowest.iter().map(|s| (s.name.as_str(), s.duration)).collect();
    assert_eq!(slow, [("H: #2", 90 * MS)], "the first is too old, the third too quick");
    let page = report.to_string();
    assert!(page.contains("then it went on") && page.contains("suspected"), "{page}");
}

#[test]
fn two_threads_that_wait_for_each_other() {
    let mut b = RecordingBuilder::new(7, "com.example").start(clocks(10 * S));
    let (a, c, target) = (b.text("A"), b.text("C"), b.text("H"));
    let wait = |owner, class| Event::WaitBegin(Wait { kind: WaitKind::Monitor, owner, lock: 1, class });
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
    // Nobody noticed, but main was in one message for the last 4 s.
    let page = report.to_string();
    assert!(page.contains("MAIN THREAD HUNG for 4.000 s"), "{page}");
    assert!(page.contains("which itself waits for the lock of C, which \"main\" holds"), "{page}");
}

#[test]
fn the_map_of_another_build_is_told_and_not_used() {
    let recording = Recording::open(stalled().map_id(MapId(1)).build()).unwrap();
    let report = Report::build(Path::new("a.anrscope"), &recording, &map()).unwrap();
    let [Warning::MapOfOtherBuild { recorded: MapId(1), .. }] = report.warnings[..] else {
        panic!("{:?}", report.warnings)
    };
    assert_eq!(report.hang.as_ref().unwrap().method().unwrap().name, "method 2");
    assert!(report.to_string().contains("warning: a.anrscope: the method map is of another build"));
    let report = Report::build(Path::new("a"), &recording, &MethodMap::empty()).unwrap();
    assert!(matches!(report.warnings[..], [Warning::NoMap { .. }]));
}

#[test]
fn a_recording_without_a_main_thread_or_anything_else() {
    let page = report(RecordingBuilder::new(7, "com.example")).to_string();
    assert!(page.contains("NOTHING HUNG"), "{page}");
}
