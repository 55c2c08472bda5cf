//! The report on the last stall of main, and its sentence.

use std::path::Path;

use answers::answer::Conclusion;
use exporter::Report;
use test_support::recordings::{MS, S, clocks, map, sigquit, stalled};
use trace_format::event::{Message, Wait, WaitKind};
use trace_format::synth::RecordingBuilder;
use trace_format::{Event, Recording};

fn latest(builder: RecordingBuilder, least: u64) -> Report {
    let recording = Recording::open(builder.build()).unwrap();
    Report::latest_stall(Path::new("a.anrscope"), &recording, &map(), least).unwrap()
}

fn sentence(report: &Report) -> String {
    let (blocked, reason) = report.sentence().expect("a stall");
    format!("{blocked}: {reason}")
}

/// Messages with one method each: start in s, duration in ms, method. The first is an ANR, too.
fn messages(all: &[(u64, u64, u32)]) -> RecordingBuilder {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(100 * S));
    let target = b.text("android.os.Handler");
    let lock = b.text("com.example.Store");
    b.main("main", |t| {
        for (at, ms, method) in all {
            let (since, until) = (at * S, at * S + ms * MS);
            t.event(since, Event::MessageBegin(Message { target, ..Message::default() }))
                .enter(since + 1_000, *method);
            if *method == 2 {
                let wait = Wait { lock: 0xbeef, class: lock, ..Wait::new(WaitKind::Monitor) };
                t.event(since + 2_000, Event::WaitBegin(wait)).event(until - 2_000, Event::WaitEnd);
            }
            t.exit(until - 1_000, *method).event(until, Event::MessageEnd);
        }
    })
    .last_alive(200 * S)
}

#[test]
fn the_last_stall_that_is_long_enough_is_reported() {
    let all = [(110, 3_000, 1), (120, 1_300, 2), (130, 400, 5)];
    let report = latest(messages(&all), S);
    assert_eq!(report.answer.conclusion, Conclusion::Hang);
    let hang = report.hang.as_ref().unwrap();
    assert_eq!((hang.since, hang.duration(), hang.ended), (120 * S, 1_300 * MS, true));
    assert_eq!(sentence(&report), "Main was blocked for 1.3 s: Sync.save waits for a lock");
    // A lower limit has another answer, a higher one the longer stall, the highest none.
    assert_eq!(latest(messages(&all), 300 * MS).hang.unwrap().since, 130 * S);
    assert_eq!(latest(messages(&all), 2 * S).hang.unwrap().since, 110 * S);
    let none = latest(messages(&all), 10 * S);
    assert_eq!((none.answer.conclusion, none.sentence()), (Conclusion::NoHang, None));
}

#[test]
fn an_earlier_anr_is_not_the_last_stall() {
    let anr = |at: u64, since: u64| {
        move |b: RecordingBuilder| {
            b.service(|t| {
                t.event(at, Event::Sigquit(sigquit(at, since)));
            })
        }
    };
    let early = latest(anr(117 * S, 110 * S)(messages(&[(110, 9_000, 1), (130, 1_200, 5)])), S);
    assert_eq!((early.answer.conclusion, early.anrs.len()), (Conclusion::Hang, 0));
    assert_eq!(early.hang.as_ref().unwrap().since, 130 * S);
    assert!(sentence(&early).starts_with("Main was blocked for 1.2 s: "), "{}", sentence(&early));
    // The page of the whole recording is about the ANR.
    let own = latest(anr(137 * S, 130 * S)(messages(&[(110, 1_200, 1), (130, 9_000, 5)])), S);
    assert_eq!((own.answer.conclusion, own.anrs.len()), (Conclusion::Anr, 1));
    assert!(sentence(&own).starts_with("Main was blocked for 9.0 s: "), "{}", sentence(&own));
}

#[test]
fn a_stall_that_lasts_has_its_owner() {
    let report = latest(stalled(), S);
    assert_eq!(
        sentence(&report),
        "Main has been blocked for 8.0 s: Sync.save waits for a lock held by worker-1"
    );
}
