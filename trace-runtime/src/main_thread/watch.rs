//! Which message of main is watched, and since when: what the timer looks at.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use native_signal::{StallTimer, Thresholds};

use crate::recorder::Recorder;
use crate::time::coarse;

static TIMER: OnceLock<StallTimer> = OnceLock::new();

/// Main is in a message since `now`.
pub(super) fn watch(recorder: &Recorder, now: u64) {
    recorder.message_since.store(now, Ordering::Relaxed);
    if let Some(timer) = TIMER.get() {
        timer.message_begin(now);
    }
}

/// Main is between two messages.
pub(super) fn watch_nothing(recorder: &Recorder) {
    recorder.message_since.store(0, Ordering::Relaxed);
    coarse::message_ended();
    if let Some(timer) = TIMER.get() {
        timer.message_end();
    }
}

/// Nobody tells of messages, and by main's record it is in a call that began then, or in none that is known. Not on main, and on one
/// thread at a time: there is no Printer with which main would tell the timer itself.
pub(crate) fn outermost(begun_ns: Option<u64>) {
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

/// Nothing is known of main's messages from now on, until somebody tells.
pub(crate) fn nobody_tells() {
    outermost(None);
    if let Some(recorder) = Recorder::active() {
        recorder.message_since.store(Recorder::NO_LOOPER, Ordering::Relaxed);
    }
}

/// LAG and ANR from these ages of a message on, ms; 0 for never.
pub(crate) fn set_limits(lag_ms: u64, anr_ms: u64) {
    let Some(timer) = TIMER.get() else { return };
    let defaults = Thresholds::default();
    let limit_ns = |ms: u64| Some(ms.saturating_mul(1_000_000)).filter(|ns| *ns > 0);
    let stall_ns = limit_ns(anr_ms).unwrap_or(defaults.stall_ns);
    let suspect_ns = defaults.suspect_ns.min(stall_ns).min(limit_ns(lag_ms).unwrap_or(u64::MAX));
    timer.set_thresholds(Thresholds { suspect_ns, stall_ns, ..defaults });
}

/// Messages are told to the timer from now on.
pub(crate) fn prepare_timer(thresholds: Thresholds) {
    // A second start is refused before it comes here.
    let _ = TIMER.set(StallTimer::new(thresholds));
}

/// The timer, once it is prepared.
pub(super) fn timer() -> Option<&'static StallTimer> {
    TIMER.get()
}
