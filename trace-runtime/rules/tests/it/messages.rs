//! Messages: bounds, history, slow ones, and those that do not end.

use trace_format::time::MS;
use trace_rules::looper::{
    DENSITY, Density, Due, HISTORY, Limits, Messages, Pairing, Poll, SLOW_MS, Tag, Watch,
};

const S: u64 = 1_000 * MS;
/// The stack of the outermost loop's `println`, and one of a loop inside.
const OUTER: usize = 0x7fff_0000;
const INNER: usize = OUTER - 2_048;

fn tag(target: u32) -> Tag {
    Tag { target, callback: 0, what: target as i32 }
}

#[test]
fn a_nested_loop_does_not_split_the_outer_message() {
    let mut pairing = Pairing::default();
    assert_eq!(pairing.begin(10 * MS, tag(1), OUTER).nested, 0);
    assert_eq!(pairing.begin(20 * MS, tag(2), INNER).nested, 1);
    let inner = pairing.end(30 * MS, Some(tag(2))).expect("the inner one");
    assert_eq!((inner.tag, inner.begun_ns, inner.nested, inner.lost), (tag(2), 20 * MS, 1, 0));
    pairing.begin(40 * MS, tag(3), INNER);
    assert_eq!(pairing.end(60 * MS, Some(tag(3))).unwrap().own_ns, 20 * MS);
    let outer = pairing.end(100 * MS, Some(tag(1))).expect("the outer one");
    // Its own time is without 20..60, in which the thread took messages.
    assert_eq!((outer.tag, outer.own_ns, outer.ended_ns - outer.begun_ns), (tag(1), 50 * MS, 90 * MS));
    assert_eq!(pairing.open(), 0);
}

#[test]
fn a_lost_end_is_made_up_for_when_the_same_loop_begins_its_next_message() {
    let mut pairing = Pairing::default();
    pairing.begin(S, tag(1), OUTER);
    // Thrown and caught around loop(), which goes on. Compiled code may have moved it a little.
    let begun = pairing.begin(3 * S, tag(2), OUTER - 64);
    assert_eq!((begun.nested, begun.lost), (0, 1));
    assert_eq!(pairing.end(3 * S + MS, Some(tag(2))).unwrap().own_ns, MS);

    // Lost inside of a nested loop: both are over when the outer loop goes on.
    pairing.begin(4 * S, tag(1), OUTER);
    pairing.begin(5 * S, tag(2), INNER);
    assert_eq!(pairing.begin(6 * S, tag(3), OUTER).lost, 2);

    // Lost inside, and the outer one ends.
    pairing.begin(7 * S, tag(4), INNER);
    let ended = pairing.end(8 * S, Some(tag(3))).unwrap();
    assert_eq!((ended.begun_ns, ended.lost, ended.own_ns, pairing.open()), (6 * S, 1, S, 0));
}

#[test]
fn an_end_belongs_to_the_message_of_its_loop() {
    let mut pairing = Pairing::default();
    pairing.begin(S, tag(1), OUTER);
    pairing.begin(2 * S, tag(1), INNER);
    // By its tag it could be the inner one, whose end is lost.
    assert_eq!(pairing.fits(Some(tag(1)), OUTER - 64), Some(0));
    // A callback that calls itself otherwise by now, and a place that is not known.
    assert_eq!(pairing.fits(Some(tag(9)), INNER), Some(1));
    assert_eq!((pairing.fits(Some(tag(1)), 0), pairing.fits(None, 0)), (Some(1), Some(1)));
    assert_eq!((pairing.fits(Some(tag(9)), 0), pairing.lost_at(OUTER)), (None, 2));
    let ended = pairing.end_of(3 * S, 0).unwrap();
    assert_eq!((ended.begun_ns, ended.lost, pairing.open()), (S, 1, 0));
    assert_eq!((pairing.end_of(4 * S, 0), pairing.fits(None, OUTER)), (None, None));
}

#[test]
fn an_end_without_a_message_changes_nothing() {
    let mut pairing = Pairing::default();
    assert_eq!(pairing.end(MS, None), None);
    pairing.begin(2 * MS, tag(1), OUTER);
    assert_eq!(pairing.end(3 * MS, Some(tag(9))), None);
    // An end does not say what it ends but for handler and callback.
    let end = Tag { what: 0, ..tag(1) };
    assert_eq!(pairing.end(4 * MS, Some(end)).unwrap().own_ns, 2 * MS);
}

#[test]
fn endlessly_nested_loops_use_fixed_memory_and_recover() {
    let mut pairing = Pairing::default();
    for depth in 0..100 {
        pairing.begin(depth * MS, tag(1), OUTER - depth as usize * 2_048);
    }
    let ended = (100..200).filter_map(|at| pairing.end(at * MS, Some(tag(1)))).count();
    assert_eq!((ended, pairing.open()), (8, 0));
}

#[test]
fn the_history_holds_two_hundred_messages_and_the_open_one() {
    let mut messages = Messages::new(HISTORY);
    for n in 0..300u64 {
        messages.begin(n * 10 * MS, tag(n as u32), OUTER);
        messages.end(n * 10 * MS + n * 1_000, Some(tag(n as u32)));
    }
    messages.begin(3 * S, tag(300), OUTER);
    let kept = messages.history.last(HISTORY, 3 * S + 40 * MS);
    assert_eq!(kept.len(), HISTORY + 1);
    for (at, message) in kept[..HISTORY].iter().enumerate() {
        assert_eq!(
            (message.tag, message.took_us, message.open),
            (tag(100 + at as u32), 100 + at as u32, false)
        );
    }
    assert_eq!((kept[HISTORY].tag, kept[HISTORY].took_us, kept[HISTORY].open), (tag(300), 40_000, true));
    // Nested: both are open.
    messages.begin(3 * S + 50 * MS, tag(301), INNER);
    let kept = messages.history.last(1, 3 * S + 51 * MS);
    assert_eq!(kept.iter().map(|m| m.took_us).collect::<Vec<_>>(), [299, 51_000, 1_000]);
}

#[test]
fn density_counts_starts_and_time_of_the_last_five_thousand_messages() {
    let mut messages = Messages::new(DENSITY);
    let mut at = S;
    let mut run = |messages: &mut Messages, count: u64| {
        for _ in 0..count {
            messages.begin(at, tag(1), OUTER);
            messages.end(at + MS, None);
            at += 4 * MS;
        }
        at
    };
    let end = run(&mut messages, 6_000);
    assert_eq!(
        messages.history.density(end),
        Density { messages: 6_000, busy_ns: 6_000 * MS, span_ns: 5_000 * 4 * MS }
    );
    assert_eq!(messages.history.last(usize::MAX, end).len(), DENSITY);
    messages.history.clear_density();
    assert_eq!(messages.history.density(end), Density::default());
    let end = run(&mut messages, 10);
    messages.begin(end, tag(2), OUTER);
    assert_eq!(
        messages.history.density(end + 7 * MS),
        Density { messages: 11, busy_ns: 17 * MS, span_ns: 47 * MS }
    );
}

#[test]
fn a_message_is_slow_from_700_ms_on_or_from_another_threshold() {
    let mut messages = Messages::new(HISTORY);
    let mut cost = |threshold_ms: u32, took_ns: u64| {
        messages.begin(S, tag(1), OUTER);
        messages.end(S + took_ns, None).unwrap().slow_ms(threshold_ms.into())
    };
    assert_eq!(cost(SLOW_MS, 700 * MS - 1), None);
    assert_eq!(cost(SLOW_MS, 699 * MS), None);
    assert_eq!(cost(SLOW_MS, 700 * MS), Some(700));
    assert_eq!(cost(300, 300 * MS), Some(300));
    assert_eq!(cost(300, 299 * MS), None);
    assert_eq!(cost(1_000, 999 * MS), None);
    // A stack may say more than the message: Matrix's clock has 5 ms.
    let line = trace_rules::stack::Line { depth: 0, id: 1, count: 1, ms: 705 };
    assert_eq!(trace_rules::stack::cost_ms(&[line], 702), 705);
    assert_eq!(trace_rules::stack::cost_ms(&[line], 710), 710);
}

#[test]
fn a_message_around_a_nested_loop_is_slow_by_its_own_time() {
    let mut messages = Messages::new(HISTORY);
    messages.begin(S, tag(1), OUTER);
    messages.begin(S + MS, tag(2), INNER);
    messages.end(60 * S, Some(tag(2)));
    let outer = messages.end(60 * S + MS, Some(tag(1))).unwrap();
    assert_eq!((outer.own_ns, outer.slow_ms(SLOW_MS.into())), (2 * MS, None));
}

/// A watching thread on a clock of our own.
struct Bench {
    watch: Watch,
    now_ns: u64,
    cpu_ns: u64,
    slept_ns: u64,
    debugger: bool,
    lags: Vec<(u64, Due)>,
    anrs: Vec<(u64, Due)>,
    sleep_ns: u64,
    recovered: Vec<u64>,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        Bench {
            watch: Watch::new(limits),
            now_ns: 100 * S,
            cpu_ns: 0,
            slept_ns: 0,
            debugger: false,
            lags: Vec::new(),
            anrs: Vec::new(),
            sleep_ns: 0,
            recovered: Vec::new(),
        }
    }

    fn poll(&mut self, begun_ns: u64, late_ns: u64) {
        let poll = Poll {
            now_ns: self.now_ns,
            begun_ns,
            due_ns: self.now_ns - late_ns,
            slept_ns: self.slept_ns,
            cpu_ns: Some(self.cpu_ns),
            debugger: self.debugger,
            ..Poll::default()
        };
        let seen = self.watch.poll(poll);
        self.lags.extend(seen.lag.map(|due| (self.now_ns, due)));
        self.anrs.extend(seen.anr.map(|due| (self.now_ns, due)));
        self.recovered.extend(seen.recovered);
        assert!(seen.sleep_ns > 0);
        self.sleep_ns = seen.sleep_ns;
    }

    /// Polls as often as the watch asks for, while a message is open from `begun_ns` until `until_ns`.
    fn run(&mut self, begun_ns: u64, until_ns: u64) {
        self.run_on(begun_ns, until_ns);
        self.now_ns = until_ns;
        self.poll(0, 0);
    }

    /// As [`Bench::run`], and the message does not end.
    fn run_on(&mut self, begun_ns: u64, until_ns: u64) {
        self.now_ns = self.now_ns.max(begun_ns);
        loop {
            self.poll(begun_ns, 0);
            if self.now_ns + self.sleep_ns > until_ns {
                break;
            }
            self.now_ns += self.sleep_ns;
            self.cpu_ns += self.sleep_ns / 10;
        }
    }
}

#[test]
fn lag_is_reported_at_two_seconds_and_anr_at_five_once_each() {
    let mut bench = Bench::new(Limits::default());
    bench.run(100 * S, 130 * S);
    assert_eq!(bench.lags.iter().map(|(at, due)| (*at, due.age_ns)).collect::<Vec<_>>(), [(102 * S, 2 * S)]);
    assert_eq!(bench.anrs.iter().map(|(at, due)| (*at, due.age_ns)).collect::<Vec<_>>(), [(105 * S, 5 * S)]);
    assert!(bench.lags.iter().chain(&bench.anrs).all(|(_, due)| due.reported && !due.timer_late));
    // The next message has its own.
    bench.run(131 * S, 134 * S);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (2, 1));
}

#[test]
fn the_end_of_a_message_cancels_lag_and_anr() {
    let mut bench = Bench::new(Limits::default());
    bench.run(100 * S, 102 * S - 1);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (0, 0));
    bench.run(110 * S, 115 * S - MS);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (1, 0));
    // Many messages of 4.9 s in a row are no ANR.
    for n in 0..10 {
        bench.run((200 + 5 * n) * S, (200 + 5 * n) * S + 4_900 * MS);
    }
    assert_eq!(bench.anrs.len(), 0);
}

#[test]
fn a_late_timer_reports_its_delay_and_matrix_drops_reports_from_six_seconds_on() {
    for (limits, late_ms, reported) in
        [(Limits::default(), 4_000, true), (Limits::MATRIX, 999, true), (Limits::MATRIX, 1_000, false)]
    {
        let mut bench = Bench::new(limits);
        bench.run_on(100 * S, 105 * S - 1);
        bench.now_ns = 105 * S + late_ms * MS;
        bench.cpu_ns += late_ms * MS / 10; // the process ran
        bench.poll(100 * S, late_ms * MS);
        let (_, anr) = bench.anrs[0];
        assert_eq!((anr.age_ns, anr.timer_late, anr.frozen_ns), (5 * S + late_ms * MS, true, 0), "{late_ms}");
        assert_eq!(anr.reported, reported, "{late_ms}");
    }
}

#[test]
fn a_frozen_process_and_a_sleeping_device_are_no_anr() {
    // Frozen in the cache: nothing ran, BOOTTIME and MONOTONIC went on.
    let mut bench = Bench::new(Limits::default());
    bench.poll(100 * S, 0);
    bench.now_ns = 700 * S;
    bench.poll(100 * S, 598 * S);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (1, 0), "two seconds of it were its own");
    assert_eq!(bench.lags[0].1.frozen_ns, 598 * S);
    // It runs on, and becomes one by its own time.
    bench.now_ns = 703 * S;
    bench.poll(100 * S, 0);
    assert_eq!(bench.anrs[0].1.age_ns, 5 * S);

    // Suspended: MONOTONIC stood still, and the process is busy in between.
    let mut bench = Bench::new(Limits::default());
    bench.poll(100 * S, 0);
    (bench.now_ns, bench.slept_ns, bench.cpu_ns) = (400 * S, 298 * S, S);
    bench.poll(100 * S, 298 * S);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (1, 0));
    assert!(!bench.lags[0].1.timer_late);

    // A message that began in the frozen stretch is as old as it is at most.
    let mut bench = Bench::new(Limits::default());
    bench.poll(0, 0);
    bench.now_ns = 700 * S;
    bench.poll(690 * S, 598 * S);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (0, 0));
}

#[test]
fn what_the_process_used_before_the_watching_thread_was_due_is_no_sign_that_it_ran_later() {
    // A sleep of one second, then a delay; the process used so much CPU time in both together.
    for (late_ms, cpu_ms, frozen_ms, timer_late) in [
        (500, 0, 0, false),             // a busy CPU
        (501, 0, 501, false),           // frozen
        (30_000, 1_000, 30_000, false), // busy until it was frozen
        (30_000, 1_299, 30_000, false),
        (30_000, 1_300, 0, true), // more than one CPU gives in a second: it ran
        (3_000, 4_000, 0, true),
    ] {
        let mut bench = Bench::new(Limits::default());
        bench.poll(100 * S, 0);
        assert_eq!(bench.sleep_ns, S);
        bench.now_ns = 101 * S + late_ms * MS;
        bench.cpu_ns = cpu_ms * MS;
        let asked = Poll {
            now_ns: bench.now_ns,
            begun_ns: 100 * S,
            due_ns: 101 * S,
            cpu_ns: Some(bench.cpu_ns),
            ..Poll::default()
        };
        assert_eq!(
            bench.watch.frozen_ns(asked),
            frozen_ms * MS,
            "before the watching thread runs: {late_ms}"
        );
        bench.poll(100 * S, late_ms * MS);
        assert_eq!(bench.watch.frozen_ns(Poll { due_ns: 0, ..asked }), frozen_ms * MS, "{late_ms} {cpu_ms}");
        // Of another message nothing is known.
        assert_eq!(bench.watch.frozen_ns(Poll { due_ns: 0, begun_ns: 99 * S, ..asked }), 0);
        bench.run_on(100 * S, 200 * S);
        let (_, anr) = bench.anrs[0];
        assert_eq!((anr.frozen_ns, anr.timer_late), (frozen_ms * MS, timer_late), "{late_ms} {cpu_ms}");
    }
}

#[test]
fn a_parked_thread_and_one_that_was_busy_before_its_sleep_are_not_late() {
    // It was parked until the message came, which is no delay of its own.
    let mut bench = Bench::new(Limits::default());
    bench.poll(0, 0);
    bench.now_ns = 700 * S;
    let poll = Poll { now_ns: 700 * S, begun_ns: 695 * S, cpu_ns: Some(0), ..Poll::default() };
    assert_eq!(bench.watch.frozen_ns(poll), 0);
    let anr = bench.watch.poll(poll).anr.unwrap();
    assert_eq!((anr.age_ns, anr.frozen_ns, anr.timer_late), (5 * S, 0, false));

    // Two seconds of work of its own after a poll belong to neither its sleep nor its delay.
    let mut bench = Bench::new(Limits::default());
    bench.poll(100 * S, 0);
    bench.watch.sleeps(Poll { now_ns: 102 * S, cpu_ns: Some(2 * S), ..Poll::default() });
    (bench.now_ns, bench.cpu_ns) = (104 * S, 2 * S);
    bench.poll(100 * S, S);
    assert_eq!(bench.lags[0].1.frozen_ns, S);
}

#[test]
fn a_freeze_while_the_watching_thread_works_does_not_count() {
    let mut bench = Bench::new(Limits::default());
    bench.poll(100 * S, 0);
    // It used 20 ms of CPU time in three seconds.
    bench.watch.sleeps(Poll { now_ns: 103 * S, cpu_ns: Some(20 * MS), ..Poll::default() });
    (bench.now_ns, bench.cpu_ns) = (104 * S, 1_020 * MS);
    bench.poll(100 * S, 0);
    let asked = Poll { now_ns: 104 * S, begun_ns: 100 * S, cpu_ns: Some(bench.cpu_ns), ..Poll::default() };
    assert_eq!((bench.watch.frozen_ns(asked), bench.lags.len()), (3 * S, 0));
}

#[test]
fn a_message_is_suspect_from_the_first_limit_on_and_its_end_is_found_after_an_anr_alone() {
    let suspect = |limits: Limits, poll: Poll| {
        let seen = Watch::new(limits).poll(poll);
        (seen.suspect, seen.lag.is_some(), seen.sleep_ns / MS)
    };
    let at = |age_ms: u64| Poll { now_ns: S + age_ms * MS, begun_ns: S, ..Poll::default() };
    let table = [
        (Limits::default(), at(999), (false, false, 1)),
        (Limits::default(), at(1_000), (true, false, 20)),
        (Limits::default(), at(1_990), (true, false, 10)),
        (Limits::default(), at(2_000), (true, true, 20)),
        (Limits { lag_ms: 300, ..Limits::default() }, at(299), (false, false, 1)),
        (Limits { lag_ms: 300, ..Limits::default() }, at(300), (true, true, 20)),
        (Limits { suspect_ms: 0, tick_ms: 0, ..Limits::default() }, at(0), (false, false, 1)),
        (Limits { suspect_ms: 0, tick_ms: 0, ..Limits::default() }, at(1), (true, false, 1)),
        (Limits::default(), Poll { unconfirmed: true, ..at(60_000) }, (true, false, 20)),
        (Limits::default(), Poll { begun_ns: 0, ..at(60_000) }, (false, false, 1_000)),
    ];
    for (limits, poll, expected) in table {
        assert_eq!(suspect(limits, poll), expected, "{limits:?} {poll:?}");
    }

    let mut bench = Bench::new(Limits::default());
    bench.run(100 * S, 104 * S);
    assert!(bench.recovered.is_empty(), "{:?}", bench.recovered);
    bench.run(110 * S, 116 * S);
    assert_eq!(bench.recovered, [110 * S]);
    // A message of which it becomes known late that it is one, and another one that begins at the same time.
    let mut watch = Watch::new(Limits::default());
    let mut poll = |generation, unconfirmed, age_ms| {
        let seen = watch.poll(Poll { generation, unconfirmed, ..at(age_ms) });
        (seen.lag.is_some(), seen.anr.is_some(), seen.recovered)
    };
    assert_eq!(poll(1, true, 6_000), (false, false, None));
    assert_eq!(poll(1, false, 6_020), (true, true, None));
    assert_eq!(poll(2, false, 6_040), (true, true, Some(S)));
}

#[test]
fn a_stall_under_a_debugger_is_no_lag() {
    let mut bench = Bench::new(Limits::default());
    bench.debugger = true;
    bench.run(100 * S, 120 * S);
    assert!(!bench.lags[0].1.reported && !bench.anrs[0].1.reported);
}

#[test]
fn a_switched_off_limit_is_never_reached() {
    let mut bench = Bench::new(Limits { lag_ms: 0, ..Limits::default() });
    bench.run(100 * S, 130 * S);
    assert_eq!((bench.lags.len(), bench.anrs.len()), (0, 1));
}

#[test]
fn limits_change_while_a_message_runs() {
    let mut watch = Watch::new(Limits::default());
    let mut poll = |lag_ms, anr_ms| {
        watch.set_limits(Limits { lag_ms, anr_ms, ..Limits::default() });
        let poll = Poll { now_ns: S + 4_000 * MS, begun_ns: S, ..Poll::default() };
        let seen = watch.poll(poll);
        (seen.lag.is_some(), seen.anr.is_some())
    };
    assert_eq!(poll(0, 0), (false, false));
    assert_eq!(poll(0, 4_001), (false, false));
    assert_eq!(poll(0, 4_000), (false, true));
    assert_eq!(poll(4_000, 4_000), (true, false));
}
