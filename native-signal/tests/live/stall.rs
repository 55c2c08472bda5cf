//! The stall timer with the rule that decides for it (`trace_rules::looper::Watch`), a real clock and small limits. Lower bounds are
//! exact; upper ones are for a machine under load.

#![cfg(any(target_os = "linux", target_os = "android"))]

use native_signal::{StallTimer, Wakeup, boottime_ns};
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trace_format::time::MS;
use trace_rules::looper::{Limits, Poll, Watch};

const SMALL: Limits = Limits { suspect_ms: 20, anr_ms: 100, tick_ms: 5, lag_ms: 0, too_late_ms: 0 };
const STALL_NS: u64 = SMALL.anr_ms * MS;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Tick { since_ns: u64 },
    Stalled { since_ns: u64, now_ns: u64 },
    Recovered { since_ns: u64, now_ns: u64 },
}

/// What the rule found, and the rule.
struct Desk {
    events: Mutex<Vec<Event>>,
    watch: Mutex<Watch>,
}

type Seen = Arc<Desk>;

fn desk(limits: Limits) -> Seen {
    Arc::new(Desk { events: Mutex::default(), watch: Mutex::new(Watch::new(limits)) })
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap();
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

impl Desk {
    fn on(&self, wakeup: Wakeup) -> u64 {
        let Wakeup { since_ns, generation, now_ns, due_ns, .. } = wakeup;
        let poll = Poll {
            now_ns,
            begun_ns: since_ns,
            generation,
            due_ns,
            cpu_ns: Some(cpu_ns()),
            ..Poll::default()
        };
        let seen = self.watch.lock().unwrap().poll(poll);
        let mut events = self.events.lock().unwrap();
        events.extend(seen.recovered.map(|since_ns| Event::Recovered { since_ns, now_ns }));
        events.extend(seen.anr.map(|_| Event::Stalled { since_ns, now_ns }));
        events.extend(seen.suspect.then_some(Event::Tick { since_ns }));
        seen.sleep_ns
    }
}

fn run(timer: &StallTimer, now: fn() -> u64, seen: &Seen) {
    let desk = seen.clone();
    timer.run(now, Box::new(move |wakeup| desk.on(wakeup))).unwrap();
}

fn start(limits: Limits, now: fn() -> u64) -> (StallTimer, Seen) {
    let (timer, seen) = (StallTimer::new(), desk(limits));
    run(&timer, now, &seen);
    (timer, seen)
}

#[track_caller]
fn wait_for(what: &str, done: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < give_up, "waited too long for {what}");
        sleep(Duration::from_millis(1));
    }
}

fn stalls(seen: &Seen) -> Vec<(u64, u64)> {
    let stalled = |event: &Event| match *event {
        Event::Stalled { since_ns, now_ns } => Some((since_ns, now_ns)),
        _ => None,
    };
    seen.events.lock().unwrap().iter().filter_map(stalled).collect()
}

fn recoveries(seen: &Seen) -> Vec<(u64, u64)> {
    let recovered = |event: &Event| match *event {
        Event::Recovered { since_ns, now_ns } => Some((since_ns, now_ns)),
        _ => None,
    };
    seen.events.lock().unwrap().iter().filter_map(recovered).collect()
}

#[test]
fn a_message_that_began_before_the_thread_is_watched() {
    let timer = StallTimer::new();
    let begin = boottime_ns();
    timer.message_begin(begin);
    // Before the thread, too.
    timer.wake();
    let seen = desk(SMALL);
    run(&timer, boottime_ns, &seen);
    wait_for("the stall", || stalls(&seen).len() == 1);
    let (since, now) = stalls(&seen)[0];
    assert!(since == begin && now - begin >= STALL_NS, "{begin}: {since} {now}");
    // It has its thread, and one that reports everything once.
    timer.run(boottime_ns, Box::new(|_| panic!("a second observer"))).unwrap();
    timer.message_end();
    wait_for("the recovery", || recoveries(&seen).len() == 1);
    assert!(!timer.observer_panicked());
}

#[test]
fn one_stall_with_ticks_before_and_after_and_a_recovery() {
    let (timer, seen) = start(SMALL, boottime_ns);
    let begin = boottime_ns();
    timer.message_begin(begin);
    wait_for("the stall", || stalls(&seen).len() == 1);
    // Keeps ticking, and is reported once.
    let ticks =
        || seen.events.lock().unwrap().iter().filter(|event| matches!(event, Event::Tick { .. })).count();
    let before = ticks();
    wait_for("more ticks", || ticks() >= before + 5);
    assert!(before >= 2, "{before} before the stall");
    timer.message_end();
    let ended = boottime_ns();
    wait_for("the recovery", || recoveries(&seen).len() == 1);

    let events = seen.events.lock().unwrap().clone();
    assert_eq!(stalls(&seen).len(), 1);
    let (since_ns, now_ns) = stalls(&seen)[0];
    assert_eq!(since_ns, begin);
    assert!(now_ns - begin >= STALL_NS, "{} ns too early", begin + STALL_NS - now_ns);
    assert_eq!(recoveries(&seen)[0].0, begin);
    assert!(recoveries(&seen)[0].1 >= ended - STALL_NS);
    for event in events {
        if let Event::Tick { since_ns } = event {
            assert_eq!(since_ns, begin);
        }
    }
}

#[test]
fn short_messages_never_fire_though_the_looper_is_busy() {
    let (timer, seen) = start(SMALL, boottime_ns);
    let until = Instant::now() + Duration::from_millis(600);
    let mut longest = 0;
    while Instant::now() < until {
        let begin = boottime_ns();
        timer.message_begin(begin);
        sleep(Duration::from_millis(1));
        timer.message_end();
        longest = longest.max(boottime_ns() - begin);
    }
    timer.stop();
    // Only a message that truly was that long (this machine may be slow) may have been reported.
    assert!(stalls(&seen).is_empty() || longest >= STALL_NS, "{:?}, longest {longest}", stalls(&seen));
    let quiet = seen.events.lock().unwrap().is_empty();
    assert!(quiet || longest >= SMALL.suspect_ms * MS);
}

#[test]
fn back_to_back_messages_are_distinguished() {
    let (timer, seen) = start(SMALL, boottime_ns);
    let first = boottime_ns();
    timer.message_begin(first);
    wait_for("the first", || stalls(&seen).len() == 1);
    // Without an end in between, as a message that was never closed.
    let second = boottime_ns();
    timer.message_begin(second);
    wait_for("the second", || stalls(&seen).len() == 2);
    assert_eq!(recoveries(&seen).len(), 1);
    assert_eq!(stalls(&seen).iter().map(|stall| stall.0).collect::<Vec<_>>(), [first, second]);
    assert!(stalls(&seen).iter().all(|(since, now)| now - since >= STALL_NS));
}

#[test]
fn other_limits_hold_for_the_message_that_is_open() {
    let far = Limits { suspect_ms: 3_600_000, anr_ms: 3_600_000, ..SMALL };
    let (timer, seen) = start(far, boottime_ns);
    let begin = boottime_ns();
    timer.message_begin(begin);
    assert!(stalls(&seen).is_empty());
    seen.watch.lock().unwrap().set_limits(SMALL);
    timer.wake();
    wait_for("the stall", || stalls(&seen).len() == 1);
    assert_eq!(stalls(&seen)[0].0, begin);
}

#[test]
fn equal_begins_are_two_messages() {
    let (timer, seen) = start(SMALL, boottime_ns);
    let begin = boottime_ns();
    timer.message_begin(begin);
    wait_for("the first", || stalls(&seen).len() == 1);
    timer.message_end();
    timer.message_begin(begin);
    wait_for("the second", || stalls(&seen).len() == 2);
    assert_eq!(recoveries(&seen).len(), 1);
}

#[test]
fn it_parks_when_nothing_happens_and_wakes_for_a_message() {
    let (timer, seen) = start(SMALL, boottime_ns);
    timer.message_begin(boottime_ns());
    timer.message_end();
    // Wake-ups end once no message was open for two seconds.
    sleep(Duration::from_millis(2500));
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        let before = timer.wakeups();
        sleep(Duration::from_millis(300));
        if timer.wakeups() == before {
            break;
        }
        assert!(Instant::now() < give_up, "it never parks");
    }
    let begin = boottime_ns();
    timer.message_begin(begin);
    wait_for("the stall", || stalls(&seen).len() == 1);
    assert_eq!(stalls(&seen)[0].0, begin);
}

#[test]
fn work_that_another_thread_finds_is_watched_until_the_watched_thread_begins_or_ends_a_message() {
    let (timer, seen) = start(SMALL, boottime_ns);
    let message = boottime_ns();
    timer.message_begin(message);
    assert!(!timer.work_began(message + 1), "a message is open");
    timer.message_end();
    // It wakes the parked thread, as a message would, and is no longer than itself, though it has the generation of the message before it.
    let work = boottime_ns();
    assert!(timer.work_began(work));
    wait_for("the stall", || stalls(&seen).len() == 1);
    let (since, now) = stalls(&seen)[0];
    assert!(since == work && now - work >= STALL_NS, "{work}: {since} {now}");
    timer.work_ends(work + 1);
    assert!(!timer.work_began(work + 2), "other work's end is not its own");
    timer.work_ends(work);
    wait_for("the end", || recoveries(&seen).len() == 1);
    // A message takes its place, and its end ends nothing of that.
    let (work, message) = (boottime_ns(), boottime_ns() + 1);
    assert!(timer.work_began(work));
    timer.message_begin(message);
    timer.work_ends(work);
    wait_for("the message's stall", || stalls(&seen).len() == 2);
    assert_eq!(stalls(&seen)[1].0, message);
}

#[test]
fn wakes_about_once_a_suspect_period_however_many_messages_there_are() {
    let limits = Limits { suspect_ms: 50, anr_ms: 10_000, tick_ms: 1, ..SMALL };
    let (timer, seen) = start(limits, boottime_ns);
    let from = Instant::now();
    let mut messages = 0u64;
    while from.elapsed() < Duration::from_millis(500) {
        timer.message_begin(boottime_ns());
        timer.message_end();
        messages += 1;
    }
    let tick = |event: &&Event| matches!(event, Event::Tick { .. });
    let (wakeups, ticks) = (timer.wakeups(), seen.events.lock().unwrap().iter().filter(tick).count() as u64);
    // Each wake-up but those of a tick is a suspect period apart.
    let periods = from.elapsed().as_nanos() as u64 / (limits.suspect_ms * MS);
    assert!(wakeups <= periods + 2 + ticks, "{wakeups} wake-ups, {periods} periods, {messages} messages");
}

#[test]
fn a_panicking_observer_is_called_no_more() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    let timer = StallTimer::new();
    let fails = move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        panic!("an observer that fails");
    };
    timer.run(boottime_ns, Box::new(fails)).unwrap();
    timer.message_begin(boottime_ns());
    wait_for("the panic", || timer.observer_panicked());
    sleep(Duration::from_millis(150));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    timer.message_end();
    timer.stop();
}

/// Added to the clock, as a deep sleep or a freezer adds to BOOTTIME.
static JUMP: AtomicU64 = AtomicU64::new(0);

fn jumping_clock() -> u64 {
    boottime_ns() + JUMP.load(Ordering::SeqCst)
}

#[test]
fn time_in_which_nothing_ran_does_not_count() {
    // The sleep until suspicion is long, so that the jump falls into a sleep of the timer thread.
    let limits = Limits { suspect_ms: 800, anr_ms: 1_200, ..SMALL };
    let (timer, seen) = start(limits, jumping_clock);
    let begin = jumping_clock();
    timer.message_begin(begin);
    sleep(Duration::from_millis(100));
    let hour = 3_600_000 * MS;
    JUMP.store(hour, Ordering::SeqCst);
    let (run, jumped) = (Instant::now(), jumping_clock());
    wait_for("the stall", || stalls(&seen).len() == 1);
    let (since_ns, now_ns) = stalls(&seen)[0];
    assert_eq!(since_ns, begin, "its true begin");
    // It has run for at least the threshold, jump not counted. What it ran before the jump and lateness are allowed for.
    assert!(now_ns - jumped >= limits.anr_ms * MS - 800 * MS, "{} ms", (now_ns - jumped) / MS);
    assert!(run.elapsed() >= Duration::from_millis(300), "{:?}", run.elapsed());
    assert!(now_ns - begin >= hour);
}
