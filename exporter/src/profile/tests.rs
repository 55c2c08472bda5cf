use std::path::Path;

use proptest::prelude::*;
use trace_format::event::{CallId, OpenCalls, Wait, WaitKind};
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::time::MS;
use trace_format::{Event, Recording};

use super::*;

fn map() -> MethodMap {
    let lines: Vec<String> = (1..=9).map(|id| format!("{id},1,com.example.C{id} m{id} ()V")).collect();
    MethodMap::parse(Path::new("map"), lines.join("\n").into_bytes()).unwrap()
}

fn profile(builder: RecordingBuilder) -> Profile {
    Profile::build(&Recording::open(builder.build()).unwrap(), &map()).unwrap()
}

fn main_of(fill: impl FnOnce(&mut ThreadBuilder)) -> ThreadProfile {
    profile(RecordingBuilder::new(1, "p").main("main", fill)).threads.remove(0)
}

fn names(thread: &ThreadProfile) -> Vec<&str> {
    thread.path.iter().map(|step| step.name.rsplit('.').next().unwrap()).collect()
}

#[test]
fn the_heaviest_path_leads_to_where_the_time_went() {
    let thread = main_of(|t| {
        t.enter(MS, 1).enter(2 * MS, 2).exit(4 * MS, 2);
        t.enter(5 * MS, 3).enter(6 * MS, 4).exit(96 * MS, 4).exit(97 * MS, 3).exit(101 * MS, 1);
    });
    assert_eq!(
        (thread.in_calls, thread.waited, thread.covered, thread.lifetime),
        (100 * MS, 0, 100 * MS, 100 * MS)
    );
    assert_eq!(names(&thread), ["m1", "m3", "m4"]);
    let last = thread.path.last().unwrap();
    assert_eq!((last.total, last.own), (90 * MS, 90 * MS));
    assert_eq!((thread.path[0].total, thread.path[0].own), (100 * MS, 6 * MS));
    let hottest: Vec<_> = thread.hottest.iter().map(|(name, own)| (name.as_str(), own / MS)).collect();
    assert_eq!(hottest, [("com.example.C4.m4", 90), ("com.example.C1.m1", 6), ("com.example.C2.m2", 2)]);
}

#[test]
fn a_path_ends_where_the_time_is_spread_or_spent() {
    // Ten calls with a tenth each.
    let spread = main_of(|t| {
        t.enter(0, 1);
        for n in 0..9 {
            t.enter(n * MS, 1 + n as u32).exit((n + 1) * MS, 1 + n as u32);
        }
        t.exit(9 * MS, 1);
    });
    assert_eq!(names(&spread), ["m1"]);
    // Mostly self time.
    let spent = main_of(|t| {
        t.enter(0, 1).enter(MS, 2).exit(5 * MS, 2).exit(10 * MS, 1);
    });
    assert_eq!(names(&spent), ["m1"]);
}

#[test]
fn recursion_is_one_step_and_counts_once() {
    let thread = main_of(|t| {
        for depth in 0..100 {
            t.enter(depth * MS, 1 + depth as u32 % 2);
        }
        t.enter(100 * MS, 3).exit(300 * MS, 3);
        for depth in (0..100).rev() {
            t.exit((400 - depth) * MS, 1 + depth as u32 % 2);
        }
    });
    assert_eq!(thread.in_calls, 400 * MS);
    assert_eq!(names(&thread), ["m1", "m2", "m3"]);
    assert_eq!(thread.path[2].total, 200 * MS);
}

#[test]
fn blocking_calls_are_named_and_others_are_not() {
    let wait = |call| Wait { call, ..Wait::new(WaitKind::Blocking) };
    let line = CallId::of("java.io.BufferedReader", "readLine");
    let spent = |id, call| {
        move |t: &mut trace_format::synth::ThreadBuilder| {
            t.enter(0, id).event(MS, Event::WaitBegin(wait(call))).event(900 * MS, Event::WaitEnd);
            t.exit(910 * MS, id);
        }
    };
    let recording = RecordingBuilder::new(1, "p").main("main", spent(1, CallId(0)));
    let lines = profile(recording.thread("worker", 2, spent(2, line))).lines(4).join("\n");
    assert!(lines.contains("C1.m1 > blocking call (self "), "{lines}");
    assert!(lines.contains("C2.m2 > BufferedReader.readLine (self "), "{lines}");
}

#[test]
fn waits_are_separate_from_work_and_the_busy_thread_comes_first() {
    let wait = Wait::new(WaitKind::Sleep);
    let profile = profile(
        RecordingBuilder::new(1, "p")
            .start(trace_format::event::Clocks::default())
            .main("main", |t| {
                t.enter(0, 1).event(10 * MS, Event::WaitBegin(wait)).event(900 * MS, Event::WaitEnd);
                t.exit(910 * MS, 1);
            })
            .thread("worker", 2, |t| {
                t.enter(300 * MS, 2).exit(350 * MS, 2).ended(700 * MS);
            }),
    );
    let [worker, main] = &profile.threads[..] else { panic!("{profile:?}") };
    assert_eq!((worker.name.as_str(), worker.in_calls, worker.lifetime), ("worker", 50 * MS, 400 * MS));
    assert_eq!((main.in_calls, main.waited), (910 * MS, 890 * MS));
    assert_eq!(names(main), ["m1", "sleep"]);
    assert_eq!(main.hottest, [("com.example.C1.m1".to_owned(), 20 * MS)], "a wait is no method");
    assert_eq!((profile.coverage(), profile.end, profile.missing), (1.0, 910 * MS, 0));
    assert_eq!(
        profile.lines(4),
        [
            "where the time went, by thread (wall-clock time in traced methods):",
            "  worker                  50 ms; most self time: C2.m2 50 ms",
            "       50 ms  C2.m2 (self 50 ms)",
            "  main                   910 ms, of it waiting 890 ms; most self time: C1.m1 20 ms",
            "      890 ms  C1.m1 > sleep (self 890 ms)",
        ]
    );
}

#[test]
fn what_is_open_at_the_end_goes_on_until_then() {
    let profile = profile(
        RecordingBuilder::new(1, "p")
            .last_alive(5_000 * MS)
            .main("main", |t| {
                t.enter(1_000 * MS, 1).enter(2_000 * MS, 2);
            })
            .thread("ended", 2, |t| {
                t.enter(1_000 * MS, 3).ended(3_000 * MS);
            }),
    );
    assert_eq!(profile.threads[0].in_calls, 4_000 * MS);
    assert_eq!(profile.threads[0].path.last().unwrap().own, 3_000 * MS);
    assert_eq!(profile.threads[1].in_calls, 2_000 * MS);
}

#[test]
fn callers_whose_start_is_overwritten_are_known_from_lists_and_from_their_ends() {
    let thread = main_of(|t| {
        t.overwritten(10).event(1_000 * MS, Event::OpenCalls(OpenCalls::new(5, 0, &[1, 2])));
        t.event(1_000 * MS, Event::OpenCalls(OpenCalls::new(5, 3, &[4, 5])));
        t.exit(1_300 * MS, 5).enter(1_300 * MS, 6).exit(1_310 * MS, 6);
        // A later block's list adds nothing.
        t.event(1_310 * MS, Event::OpenCalls(OpenCalls::new(1, 0, &[9])));
        // Leaves a call whose name is not listed.
        t.exit(1_400 * MS, 4).exit(1_500 * MS, 7).exit(1_600 * MS, 2).exit(1_700 * MS, 1);
    });
    assert_eq!(names(&thread), ["m1", "m2", "m7", "m4", "m5"]);
    assert_eq!(thread.in_calls, 700 * MS);
    assert_eq!(thread.path[1].own, 100 * MS);
}

#[test]
fn a_gap_belongs_to_no_call() {
    let mut bytes = RecordingBuilder::new(1, "p")
        .main("main", |t| {
            t.enter(0, 1);
            for block in 1..4 {
                t.new_block(block * 1_000 * MS).enter(block * 1_000 * MS, 2).exit(block * 1_000 * MS + MS, 2);
            }
            t.exit(3_500 * MS, 1);
        })
        .build();
    // The header of the second block: the main ring is the first region, after the header.
    bytes[4096 + 8192..4096 + 8192 + 64].fill(0);
    let recording = Recording::open(bytes).unwrap();
    let profile = Profile::build(&recording, &map()).unwrap();
    let main = &profile.threads[0];
    assert_eq!((profile.missing, main.lifetime), (2, 3_500 * MS));
    assert_eq!(main.covered, 1_500 * MS, "between the first block and the third nothing is known");
    assert!((profile.coverage() - 1.5 / 3.5).abs() < 1e-9);
    assert!(profile.lines(1)[1].contains(", of the last 1.50 s of 3.50 s"), "{:?}", profile.lines(1));
}

#[test]
fn only_the_time_from_a_moment_on_counts() {
    let builder = RecordingBuilder::new(1, "p")
        .main("main", |t| {
            t.overwritten(7).enter(100 * MS, 1).exit(200 * MS, 1);
            t.enter(900 * MS, 2).enter(950 * MS, 3).exit(1_030 * MS, 3).exit(1_040 * MS, 2);
            t.enter(1_100 * MS, 4).exit(1_150 * MS, 4);
        })
        .thread("inside", 8, |t| {
            t.enter(400 * MS, 5).enter(500 * MS, 6);
        })
        .thread("before", 9, |t| {
            t.enter(300 * MS, 5).exit(400 * MS, 5);
        });
    let recording = Recording::open(builder.build()).unwrap();
    let profile = Profile::since(&recording, &map(), 1_000 * MS).unwrap();
    assert_eq!((profile.events, profile.missing, profile.begin), (4, 0, 1_000 * MS));
    let [inside, main] = profile.threads.as_slice() else { panic!("{profile:?}") };
    assert_eq!(
        (inside.name.as_str(), names(inside), inside.in_calls),
        ("inside", vec!["m5", "m6"], 150 * MS)
    );
    assert_eq!((main.in_calls, main.covered, main.lifetime), (90 * MS, 150 * MS, 150 * MS));
    let whole = Profile::build(&recording, &map()).unwrap();
    assert_eq!((whole.events, whole.threads.len()), (12, 3));
    assert!(whole.missing > 0, "{whole:?}");
}

#[test]
fn names_of_another_build_are_not_used_and_many_threads_are_one_line() {
    let mut builder = RecordingBuilder::new(1, "p").map_id(trace_format::MapId(9));
    for n in 0..6_u32 {
        builder = builder.thread("", 10 + n, |t| {
            t.enter(0, 1).exit(u64::from(n + 1) * MS, 1);
        });
    }
    let lines = profile(builder).lines(2);
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[1].contains("tid 15") && lines[1].contains("method 1 6.0 ms"), "{lines:?}");
    assert_eq!(lines[5], "  4 more threads: 10 ms");
    assert_eq!(profile(RecordingBuilder::new(1, "p")).lines(2), Vec::<String>::new());
}

proptest! {
    /// However calls are nested, truncated or torn: the times add up.
    #[test]
    fn all_time_that_is_covered_is_somebodys(
        events in proptest::collection::vec((0_u64..50, 0_u32..6, any::<bool>()), 1..300),
        open in proptest::option::of((0_u32..20, 0_u32..20, proptest::collection::vec(1_u32..9, 0..30))),
        lost: bool,
    ) {
        let thread = main_of(|t| {
            if lost {
                t.overwritten(3);
            }
            let mut now = 1_000;
            if let Some((depth, first, ids)) = &open {
                t.event(now, Event::OpenCalls(OpenCalls::new(*depth, *first, ids)));
            }
            for (after, id, begin) in &events {
                now += after;
                match (id, begin) {
                    (0, true) => {
                        let wait = Wait::new(WaitKind::Park);
                        t.event(now, Event::WaitBegin(wait));
                    }
                    (0, false) => {
                        t.event(now, Event::WaitEnd);
                    }
                    (id, true) => {
                        t.enter(now, *id);
                    }
                    (id, false) => {
                        t.exit(now, *id);
                    }
                }
            }
        });
        let whole: u64 = events.iter().map(|(after, ..)| after).sum::<u64>()
            - if open.is_none() { events[0].0 } else { 0 };
        prop_assert_eq!(thread.covered, whole);
        prop_assert!(thread.in_calls <= whole && thread.waited <= thread.in_calls);
        prop_assert!(thread.path.windows(2).all(|pair| pair[0].total >= pair[1].total + pair[0].own));
        prop_assert!(thread.path.first().is_none_or(|first| first.total <= thread.in_calls));
        let own: u64 = thread.hottest.iter().map(|(_, own)| own).sum();
        prop_assert!(own <= thread.in_calls - thread.waited);
    }
}
