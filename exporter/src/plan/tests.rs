use std::path::Path;

use proptest::prelude::*;
use trace_format::event::{Event, Folded, OpenCalls, Wait, WaitKind};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::time::MS;
use trace_format::{MapId, Recording};

use super::*;
use crate::{MethodMap, Warning};

const MAP: &str = "1,1,a.Main run ()V\n2,1,a.Main hot ()I\n3,1,a.Util hot (La.B;)V\n4,1,a.Util odd name ()V\n\
    1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n";

fn map() -> MethodMap {
    MethodMap::parse(Path::new("map"), MAP.as_bytes().to_vec()).unwrap()
}

fn recorded(fill: impl FnOnce(&mut ThreadBuilder), overhead: &str) -> RecordedCalls {
    let builder = RecordingBuilder::new(7, "app").map_id(map().map_id()).main("main", fill);
    let builder = if overhead.is_empty() {
        builder
    } else {
        builder.section(SectionKind::Overhead, overhead.as_bytes())
    };
    let recording = Recording::open(builder.build()).unwrap();
    let mut calls = RecordedCalls::default();
    calls.add(Path::new("r"), &recording, &map()).unwrap();
    calls
}

fn used(calls: &RecordedCalls, class: &str, method: &str) -> CallStats {
    let found = calls.methods().find(|(name, _)| name.class == class && name.method == method);
    found.map(|(_, used)| *used).unwrap_or_default()
}

/// `count` calls of method `id`, each `ns` long, from `at` on.
fn calls(thread: &mut ThreadBuilder, at: u64, id: u32, count: u64, ns: u64) -> u64 {
    for n in 0..count {
        thread.enter(at + n * ns, id).exit(at + (n + 1) * ns, id);
    }
    at + count * ns
}

#[test]
fn what_is_called_often_and_never_lasts_is_left_out() {
    let calls = recorded(
        |thread| {
            thread.enter(0, 1);
            let end = calls(thread, 0, 2, 5_000, 200);
            let end = calls(thread, end, 3, 5_000, 100_000);
            thread.exit(end, 1);
        },
        "",
    );
    assert_eq!(used(&calls, "a.Main", "hot").mean(), 200);
    let plan = Plan::of(&calls, &Thresholds::default());
    assert_eq!((plan.calls, plan.methods, plan.rows.len()), (10_001, 3, 1));
    assert_eq!(plan.rows[0].method.rule(), "exclude class-only a.Main method hot()I");
    assert_eq!((plan.left_out(), percent(1, 4), percent(1, 0)), (5_000, 25.0, 0.0));
    let slower = Thresholds { mean: 100_000, ..Thresholds::default() };
    assert_eq!(Plan::of(&calls, &slower).rows.len(), 2);
    assert_eq!(Plan::of(&calls, &Thresholds { methods: 1, ..slower }).rows.len(), 1);
    assert_eq!(Plan::of(&calls, &Thresholds { calls: 5_001, ..slower }).rows.len(), 0);
    assert_eq!(Plan::of(&calls, &Thresholds { share: 500_000, ..slower }).rows.len(), 0);
    assert_eq!(plan.to_json()["rows"][0]["mean_ns"], 200);
}

#[test]
fn what_ever_lasted_or_waits_is_kept() {
    let rows = |fill: &dyn Fn(&mut ThreadBuilder, u64) -> u64| {
        let calls = recorded(
            |thread| {
                let end = calls(thread, 0, 2, 20_000, 200);
                fill(thread, end);
            },
            "",
        );
        Plan::of(&calls, &Thresholds::default()).rows.len()
    };
    // Twice in 20,000 calls the thread may have lost its CPU; not three times, and not for 100 ms.
    assert_eq!(rows(&|thread, at| calls(thread, at, 2, 2, 6 * MS)), 1);
    assert_eq!(rows(&|thread, at| calls(thread, at, 2, 3, 6 * MS)), 0);
    assert_eq!(rows(&|thread, at| calls(thread, at, 2, 1, 100 * MS)), 0);
    // Main hangs in it: it never ends.
    let hangs = |thread: &mut ThreadBuilder, at: u64| {
        thread.enter(at, 2);
        calls(thread, at, 1, 1, 200 * MS)
    };
    assert_eq!(rows(&hangs), 0);
    let wait = Wait { lock: 1, ..Wait::new(WaitKind::Monitor) };
    let waits = |thread: &mut ThreadBuilder, at: u64| {
        thread.enter(at, 2).event(at + 10, Event::WaitBegin(wait));
        thread.event(at + 20, Event::WaitEnd).exit(at + 30, 2);
        at + 30
    };
    assert_eq!(rows(&waits), 0);
}

#[test]
fn calls_that_were_open_when_the_ring_starts_count_from_there_on() {
    let calls = recorded(
        |thread| {
            thread.overwritten(2).event(1_000, Event::OpenCalls(OpenCalls::new(2, 0, &[1, 2])));
            thread.exit(1_000 + 150 * MS, 2).exit(1_000 + 151 * MS, 1);
        },
        "",
    );
    assert_eq!(used(&calls, "a.Main", "hot").longest, 150 * MS);
    assert_eq!(used(&calls, "a.Main", "run").calls, 1);
}

#[test]
fn calls_that_left_nothing_are_counted_and_their_mean_is_by_ticks() {
    let calls = recorded(
        |thread| {
            thread.coarse().enter(0, 1);
            // Three calls of a million were open at a tick.
            let end = calls(thread, 0, 2, 3, MS);
            let hot = [(2, 900_000), (3, 50_000), (0, 0), (0, 0)];
            thread.event(end, Event::Folded(Folded { calls: 1_000_000, since: 0, hot })).exit(end, 1);
        },
        "",
    );
    let hot = used(&calls, "a.Main", "hot");
    assert_eq!((hot.calls, hot.estimated, hot.mean()), (900_003, 900_000, 3));
    assert_eq!(calls.calls(), 1_000_004);
    let plan = Plan::of(&calls, &Thresholds::default());
    assert_eq!(plan.rows.iter().map(|row| row.used.calls).collect::<Vec<_>>(), [900_003, 50_000]);
    assert_eq!(plan.rows[1].method.rule(), "exclude class-only a.Util method hot(La.B;)V");
}

#[test]
fn what_was_switched_off_was_called_on() {
    // Off for two seconds, on for one, and off until the end of the recording.
    let lines = "1000000000 cost 31.5 100 0.1\n1000000000 off 2 500000\n3000000000 on 2\n4000000000 off 2 1000000\n\
        nonsense\n5 off\n5 off x y\n5 off 1048574 9\n18446744073709551615 off 3 18446744073709551615\n";
    let calls = recorded(
        |thread| {
            thread.enter(0, 1).exit(5_000 * MS, 1);
        },
        lines,
    );
    assert_eq!(used(&calls, "a.Main", "hot").calls, 1_500_000);
    assert_eq!(used(&calls, "a.Util", "hot").calls, 0);
    let plan = Plan::of(&calls, &Thresholds::default());
    assert_eq!(plan.rows.len(), 1);
    assert_eq!(plan.rows[0].used.estimated, 1_500_000);
}

#[test]
fn a_name_that_no_rule_can_hold_is_counted() {
    let calls = recorded(
        |thread| {
            calls(thread, 0, 4, 5_000, 100);
        },
        "",
    );
    let plan = Plan::of(&calls, &Thresholds::default());
    assert_eq!((plan.rows.len(), plan.unwritable), (0, 1));
}

#[test]
fn without_the_map_of_the_build_nothing_is_planned() {
    let build = || {
        RecordingBuilder::new(7, "app").map_id(MapId(99)).main("main", |t| {
            t.enter(0, 2).exit(5, 2);
        })
    };
    let recording = Recording::open(build().build()).unwrap();
    let mut calls = RecordedCalls::default();
    let warnings = calls.add(Path::new("r"), &recording, &map()).unwrap();
    assert!(matches!(warnings[..], [Warning::MapOfOtherBuild { .. }]));
    let warnings = calls.add(Path::new("r"), &recording, &MethodMap::empty()).unwrap();
    assert!(matches!(warnings[..], [Warning::NoMap { .. }]));
    assert_eq!((calls.recordings, calls.methods().count()), (0, 0));
}

proptest! {
    /// Any lines are accepted, and nothing overflows.
    #[test]
    fn any_overhead_section_is_read(text in "([0-9]{1,20} (on|off|cost)?( [0-9]{1,20}){0,3}\n){0,20}") {
        recorded(|thread| { thread.enter(0, 1).exit(9, 1); }, &text);
    }

    /// Calls add up over any nesting, and a method's mean never exceeds its longest call.
    #[test]
    fn calls_add_up(steps in proptest::collection::vec((1_u32..4, 1_u64..2_000_000, any::<bool>()), 0..200)) {
        let mut entered = 0;
        let calls = recorded(|thread| {
            let (mut now, mut open) = (0, Vec::new());
            for (id, ns, enters) in &steps {
                now += ns;
                match if *enters { None } else { open.pop() } {
                    Some(id) => { thread.exit(now, id); }
                    None => { thread.enter(now, *id); open.push(*id); entered += 1; }
                }
            }
        }, "");
        prop_assert_eq!(calls.calls(), entered);
        for (_, used) in calls.methods() {
            prop_assert!(used.mean() <= used.longest && used.long_calls <= used.calls);
        }
    }
}
