//! Input that waited for main.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use trace_rules::report::{Issue, LagKind};
use trace_rules::touch::TouchWatch;

use crate::files::worker;
use crate::monitors::config::options::{self, Setting};
use crate::monitors::{app_state, reports};
use crate::unpoisoned::lock;

static WATCHED: Mutex<TouchWatch> = Mutex::new(TouchWatch::new());
/// The oldest event since the last [`take_events`], ms of uptime; 0 for none.
static OLDEST: AtomicU64 = AtomicU64::new(0);
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// Notes a stack of main that was taken during a stall, at `at_ms` of uptime.
pub(crate) fn stalled(at_ms: u64, thread_stack: &str) {
    lock(&WATCHED).stalled(at_ms, thread_stack);
}

/// Checks an event that happened at `event_ms` and is dispatched to a window at `now_ms`, both ms of
/// uptime. On main.
pub(crate) fn dispatched(event_ms: u64, now_ms: u64) {
    if OLDEST.load(Ordering::Relaxed) == 0 {
        OLDEST.store(event_ms, Ordering::Relaxed);
    }
    NEWEST.store(event_ms, Ordering::Relaxed);
    let threshold_ms = options::number(Setting::TouchMs);
    if now_ms.saturating_sub(event_ms) < threshold_ms {
        return;
    }
    // Rare from here on: the lock and the rest delay an event that is delayed already.
    let lag = lock(&WATCHED).dispatched(event_ms, now_ms, threshold_ms);
    if let Some(thread_stack) = lag {
        worker::then(Box::new(move || {
            reports::report(&Issue::Lag {
                kind: LagKind::Touch,
                scene: &app_state::scene_name(),
                thread_stack: &thread_stack,
                foreground: app_state::is_foreground(),
            });
        }));
    }
}

/// The oldest and the newest event since the last call, ms of uptime: the input of the frame that ends. On
/// main.
pub(crate) fn take_events() -> Option<(u64, u64)> {
    let oldest = OLDEST.swap(0, Ordering::Relaxed);
    (oldest != 0).then(|| (oldest, NEWEST.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_events_of_a_frame_are_taken_once() {
        dispatched(100, 110);
        dispatched(104, 112);
        assert_eq!(take_events(), Some((100, 104)));
        assert_eq!(take_events(), None);
    }
}
