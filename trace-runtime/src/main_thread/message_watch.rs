//! The message of main that the stall timer watches, and since when.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use native_signal::{StallTimer, Thresholds};

use crate::recorder::Recorder;
use crate::time::coarse;

static TIMER: OnceLock<StallTimer> = OnceLock::new();

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

/// Sets the ages of a message for LAG, ANR and samples of main's stack, ms; 0 for never.
pub(crate) fn set_limits(lag_ms: u64, anr_ms: u64, sample_from_ms: u64) {
    let Some(timer) = TIMER.get() else { return };
    let defaults = Thresholds::default();
    let limit_ns = |ms: u64| Some(ms.saturating_mul(1_000_000)).filter(|ns| *ns > 0);
    let stall_ns = limit_ns(anr_ms).unwrap_or(defaults.stall_ns);
    let earliest_ns = [lag_ms, sample_from_ms].into_iter().filter_map(limit_ns).min();
    let suspect_ns = defaults.suspect_ns.min(stall_ns).min(earliest_ns.unwrap_or(u64::MAX));
    timer.set_thresholds(Thresholds { suspect_ns, stall_ns, ..defaults });
}

/// Creates the timer, so that messages are reported to it from now on.
pub(crate) fn prepare_timer(thresholds: Thresholds) {
    // A second start is refused before this is reached.
    let _ = TIMER.set(StallTimer::new(thresholds));
}

/// How long the process was frozen during the message that began at `since`, up to `at`, ms. Not on main.
pub(crate) fn frozen_ms(since: u64, at: u64) -> u64 {
    TIMER.get().map_or(0, |timer| timer.frozen_ns(since, at) / 1_000_000)
}

/// The timer, once it is created.
pub(crate) fn timer() -> Option<&'static StallTimer> {
    TIMER.get()
}
