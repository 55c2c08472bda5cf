//! The message of main that the stall timer watches, since when, and the rule that decides what it is: for the
//! monitors, and for the evidence of a SIGQUIT.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};

use native_signal::{StallTimer, Wakeup};
use trace_rules::looper::{Limits, Poll, PollResult, Watch};

use crate::recorder::Recorder;
use crate::time::{clock, coarse};
use crate::unpoisoned::lock;

static TIMER: OnceLock<StallTimer> = OnceLock::new();
/// The rule. Never locked on main.
static RULE: Mutex<Option<Watch>> = Mutex::new(None);

/// Watches the message that main began at `now`.
pub(crate) fn watch(recorder: &Recorder, now: u64) {
    recorder.message_since.store(now, Ordering::Relaxed);
    if let Some(timer) = TIMER.get() {
        timer.message_begin(now);
    }
}

/// Stops watching: main is between two messages.
pub(crate) fn watch_nothing(recorder: &Recorder) {
    recorder.message_since.store(0, Ordering::Relaxed);
    coarse::message_ended();
    if let Some(timer) = TIMER.get() {
        timer.message_end();
    }
}

/// Without a Printer: treats main's outermost recorded call, which began at `begun_ns`, as the current
/// message; `None` if unknown. Not on main, and on one thread at a time: without a Printer main does not
/// report to the timer itself.
pub(crate) fn set_outermost_call(begun_ns: Option<u64>) {
    let Some(recorder) = Recorder::active() else { return };
    let known = recorder.message_since.load(Ordering::Relaxed);
    match begun_ns {
        Some(begun) if known != begun => watch(recorder, begun),
        None if known != 0 => {
            recorder.message_since.store(0, Ordering::Relaxed);
            if let Some(timer) = TIMER.get() {
                timer.message_end();
            }
        }
        _ => {}
    }
}

/// Lets the timer watch work outside of messages that no shim reports and that another thread detected:
/// main has been outside of its poll since `begun_ns`. The timer watches it as a message, until
/// [`work_ends`] or until main begins a message. Returns false if main is in a message by now. Not on main.
pub(crate) fn work_began(begun_ns: u64) -> bool {
    TIMER.get().is_some_and(|timer| timer.work_began(begun_ns))
}

/// Lets the timer watch what may be such work, like [`work_began`].
pub(crate) fn suspicion_began(begun_ns: u64) -> bool {
    TIMER.get().is_some_and(|timer| timer.suspicion_began(begun_ns))
}

/// Publishes that work as what main is doing.
pub(crate) fn work_is_known(begun_ns: u64) {
    if let Some(recorder) = Recorder::active() {
        let since = &recorder.message_since;
        for idle in [0, Recorder::NO_LOOPER] {
            let _ = since.compare_exchange(idle, begun_ns, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Ends the work that began then. Changes nothing if main has begun or ended a message since.
pub(crate) fn work_ends(begun_ns: u64) {
    if let Some(timer) = TIMER.get() {
        timer.work_ends(begun_ns);
    }
    if let Some(recorder) = Recorder::active() {
        let _ = recorder.message_since.compare_exchange(begun_ns, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Whether main is in no message, as far as messages are known; the work that began at `but` does not count
/// as one.
pub(crate) fn is_between_messages(recorder: &Recorder, but: Option<u64>) -> bool {
    let since = recorder.message_since.load(Ordering::Relaxed);
    since == 0 || since == Recorder::NO_LOOPER || Some(since) == but
}

/// Stops message tracking: main's messages are unknown until they are reported again.
pub(crate) fn disable_message_tracking() {
    set_outermost_call(None);
    if let Some(recorder) = Recorder::active() {
        recorder.message_since.store(Recorder::NO_LOOPER, Ordering::Relaxed);
    }
}

/// Creates the timer, so that messages are reported to it from now on.
pub(crate) fn prepare_timer(limits: Limits) {
    // A second start is refused before this is reached.
    let _ = TIMER.set(StallTimer::new());
    *lock(&RULE) = Some(Watch::new(limits));
}

/// Wakes the timer, since the limits have changed.
pub(crate) fn limits_changed() {
    if let Some(timer) = TIMER.get() {
        timer.wake();
    }
}

/// What the rule asks for at a wake-up of a timer.
pub(crate) fn poll(wakeup: Wakeup) -> Poll {
    let Wakeup { since_ns, is_suspicion, generation, now_ns, due_ns } = wakeup;
    Poll { now_ns, begun_ns: since_ns, generation, unconfirmed: is_suspicion, due_ns, ..measured() }
}

/// How long the device has slept and the process has run, with nothing about a message.
fn measured() -> Poll {
    Poll {
        slept_ns: u64::try_from(clock::ahead()).unwrap_or(0),
        cpu_ns: clock::process_cpu(),
        ..Poll::default()
    }
}

/// Decides what main's message is, by these limits or, with `None`, by those of before. On the timer's thread.
pub(crate) fn decide(poll: Poll, limits: Option<Limits>) -> PollResult {
    let mut rule = lock(&RULE);
    let rule = rule.get_or_insert_default();
    if let Some(limits) = limits {
        rule.set_limits(limits);
    }
    rule.poll(poll)
}

/// The timer's thread is about to sleep.
pub(crate) fn sleeps() {
    if let Some(rule) = lock(&RULE).as_mut() {
        rule.sleeps(Poll { now_ns: clock::boottime(), ..measured() });
    }
}

/// How long the process was frozen during the message that began at `since`, up to `at`, ms. Not on main.
pub(crate) fn frozen_ms(since: u64, at: u64) -> u64 {
    // The lock comes first: the timer is not due any more when it takes the lock itself to add its delay.
    let rule = lock(&RULE);
    let (Some(rule), Some(timer)) = (rule.as_ref(), TIMER.get()) else { return 0 };
    let asked = Poll { now_ns: at, begun_ns: since, due_ns: timer.due_ns(), ..measured() };
    rule.frozen_ns(asked) / 1_000_000
}

/// The timer, once it is created.
pub(crate) fn timer() -> Option<&'static StallTimer> {
    TIMER.get()
}
