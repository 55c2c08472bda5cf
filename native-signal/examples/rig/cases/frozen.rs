//! A process that was stopped for three seconds before its SIGQUIT, as the system's freezer stops one whose ANR timer has ended
//! (AOSP `services/core/jni/com_android_server_utils_AnrTimer.cpp`, Android 16): main is late by what it was late before.

use super::Row;
use super::art::{block_as_art, scribe, start_catcher};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use native_signal::{Config, Evidence, Identity, Judge, Outcome, Policy, StallTimer, Wakeup, boottime_ns};
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use trace_rules::looper::{Limits, Poll, Watch};

pub(super) const CASES: &[Row] = &[
    ("frozen_while_main_was_in_time", simulate_in_time, |subject| {
        judge_frozen(subject, Order::Thawed, false)
    }),
    ("frozen_and_asked_before_it_thaws", simulate_in_time, |subject| {
        judge_frozen(subject, Order::Frozen, false)
    }),
    ("frozen_after_main_was_late", simulate_late, |subject| judge_frozen(subject, Order::Thawed, true)),
];

/// When the signal is sent.
enum Order {
    /// While the process is stopped.
    Frozen,
    /// Right after it goes on.
    Thawed,
}

/// What the simulated app answers, by index into [`Page::answers`].
mod answer {
    pub(super) const VERDICT: usize = 0;
    pub(super) const VERDICT_BY_THE_CLOCK: usize = 1;
    pub(super) const FROZEN_MS: usize = 2;
    pub(super) const RUNNING_MS: usize = 3;
    pub(super) const STALLS: usize = 4;
}

static TIMER: OnceLock<(StallTimer, Mutex<Watch>)> = OnceLock::new();
static SINCE: AtomicU64 = AtomicU64::new(0);

/// The evidence of a signal from the system while the app is in front, judged as the recorder does; with what the clock alone says
/// beside it.
fn judge_signal(page: &Page, at_ns: u64) {
    let since_ns = SINCE.load(Ordering::SeqCst);
    let (timer, watch) = TIMER.get().unwrap();
    let watch = watch.lock().unwrap();
    let frozen_ns = watch.frozen_ns(poll(Wakeup {
        since_ns,
        is_suspicion: false,
        generation: 1,
        now_ns: at_ns,
        due_ns: timer.due_ns(),
    }));
    let own = Identity { pid: std::process::id() as i32, uid: 10_123 };
    let evidence = Evidence {
        at_ns,
        si_pid: 1,
        si_uid: 1000,
        foreground: Some(true),
        message: Some(since_ns),
        running_ms: Some((at_ns - since_ns) / 1_000_000),
        frozen_ms: frozen_ns / 1_000_000,
        ..Evidence::default()
    };
    let verdict = |evidence: &Evidence| Judge::new(Policy::Anrscope, own).judge(evidence).outcome as i64;
    page.answer(answer::VERDICT, verdict(&evidence));
    page.answer(answer::VERDICT_BY_THE_CLOCK, verdict(&Evidence { frozen_ms: 0, ..evidence }));
    page.answer(answer::FROZEN_MS, evidence.frozen_ms as i64);
    page.answer(answer::RUNNING_MS, evidence.running_ms.unwrap() as i64);
}

/// What the rule asks for at a wake-up. No device sleeps here.
fn poll(wakeup: Wakeup) -> Poll {
    let cpu = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap();
    Poll {
        now_ns: wakeup.now_ns,
        begun_ns: wakeup.since_ns,
        generation: wakeup.generation,
        due_ns: wakeup.due_ns,
        cpu_ns: Some(cpu.tv_sec() as u64 * 1_000_000_000 + cpu.tv_nsec() as u64),
        ..Poll::default()
    }
}

/// Main begins a message, which does not end.
fn simulate(page: &'static Page, ready: impl Fn() -> bool) {
    block_as_art();
    // Of a leader and a catcher that thaw together either may take the signal; here only the leader can, until it is sensed.
    page.catcher_busy.store(1, Ordering::SeqCst);
    start_catcher(page, "Signal Catcher", u64::MAX);
    let mut write = scribe(page);
    let observer = move |sensed: native_signal::Sensed| {
        judge_signal(page, sensed.time_ns);
        write(sensed);
    };
    let _sensor = native_signal::install(Config::default(), Box::new(observer)).unwrap();
    let (timer, watch) = TIMER.get_or_init(|| (StallTimer::new(), Mutex::new(Watch::new(Limits::default()))));
    let observer = |wakeup| {
        let seen = watch.lock().unwrap().poll(poll(wakeup));
        page.answers[answer::STALLS].fetch_add(seen.anr.is_some().into(), Ordering::SeqCst);
        seen.sleep_ns
    };
    timer.run(boottime_ns, Box::new(observer)).unwrap();
    // The timer's thread is on its way to its first sleep.
    wait_until("the timer", || timer.wakeups() > 0);
    let now_ns = boottime_ns();
    SINCE.store(now_ns, Ordering::SeqCst);
    timer.message_begin(now_ns);
    wait_until("the moment to be frozen", ready);
    page.reach(1);
    page.wait_allowed(2);
}

fn simulate_in_time(page: &'static Page) {
    simulate(page, || true);
}

fn simulate_late(page: &'static Page) {
    simulate(page, || page.answered(answer::STALLS) > 0);
}

/// How long the process is stopped.
const STOP_US: u64 = 3_000_000;

fn signal(subject: &Subject, signal: i32) {
    // SAFETY: integers; the simulated app is our child.
    assert_eq!(unsafe { libc::kill(subject.pid(), signal) }, 0);
}

fn judge_frozen(subject: &mut Subject, order: Order, is_anr: bool) {
    signal(subject, libc::SIGSTOP);
    nap(STOP_US);
    if let Order::Frozen = order {
        subject.send();
    }
    signal(subject, libc::SIGCONT);
    if let Order::Thawed = order {
        subject.send();
    }
    wait_until("the observer", || subject.page.observer.count() == 1);
    subject.page.catcher_busy.store(0, Ordering::SeqCst);
    subject.settles_at("the catcher", 1, |page| page.catcher.count());
    let [verdict, by_the_clock, frozen_ms, running_ms, stalls] = [
        answer::VERDICT,
        answer::VERDICT_BY_THE_CLOCK,
        answer::FROZEN_MS,
        answer::RUNNING_MS,
        answer::STALLS,
    ]
    .map(|index| subject.page.answered(index));
    println!("  {running_ms} ms in its message, {frozen_ms} ms of it frozen");
    let wanted = if is_anr { Outcome::Anr } else { Outcome::DumpRequested };
    assert_eq!(verdict, wanted as i64);
    assert_eq!(stalls, i64::from(is_anr), "the timer's own ANR");
    if is_anr {
        assert!(frozen_ms >= 2_900 && running_ms - frozen_ms >= 5_000, "at each tick it is known to 20 ms");
    } else {
        assert_ne!(by_the_clock, verdict, "the clock alone would suspect an ANR");
    }
}
