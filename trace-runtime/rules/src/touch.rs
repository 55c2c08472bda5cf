//! Touch lag: input that waited for main.
//!
//! No hooks: for each event that a window dispatches, the shim passes when it happened (`InputEvent.getEventTime`) and when it
//! was dispatched. An event that is that old waited for main, so the stack that explains it was taken during the stall:
//! [`crate::looper::Watch`] triggers that at its limits and the sample is remembered here. Nothing runs in between.

/// The time without a second report, ms: one stall delays the many events of one gesture (2 · 2,000 in Matrix).
pub const AGAIN_MS: u64 = 4_000;

/// Watches one process's touch events.
#[derive(Debug, Default)]
pub struct TouchWatch {
    stack: Option<(u64, String)>,
    reported_ms: Option<u64>,
}

impl TouchWatch {
    /// A watch that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        TouchWatch { stack: None, reported_ms: None }
    }

    /// Notes a stack of main that was taken during a stall, at `at_ms` of uptime.
    pub fn stalled(&mut self, at_ms: u64, stack: &str) {
        self.stack = Some((at_ms, stack.to_owned()));
    }

    /// Checks an event that happened at `event_ms` and is dispatched at `now_ms`, both in ms of uptime. It is a lag if it
    /// waited `threshold_ms` or more, and comes with main's newest stack, which is empty unless it was taken between the
    /// event and its dispatch.
    pub fn dispatched(&mut self, event_ms: u64, now_ms: u64, threshold_ms: u64) -> Option<String> {
        if now_ms.saturating_sub(event_ms) < threshold_ms
            || self.reported_ms.is_some_and(|reported| now_ms.saturating_sub(reported) < AGAIN_MS)
        {
            return None;
        }
        self.reported_ms = Some(now_ms);
        let stack = self.stack.as_ref().filter(|(at_ms, _)| (event_ms..=now_ms).contains(at_ms));
        Some(stack.map(|(_, stack)| stack.clone()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrix's `DEFAULT_TOUCH_EVENT_LAG`.
    const LAG_MS: u64 = 2_000;

    #[test]
    fn the_stack_is_taken_at_the_stall_and_reported_at_the_dispatch() {
        let mut touch = TouchWatch::new();
        assert_eq!(touch.dispatched(1_000, 2_999, LAG_MS), None);
        touch.stalled(11_000, "at a.B:c(1)");
        touch.stalled(12_000, "at a.B:d(2)");
        assert_eq!(touch.dispatched(10_500, 13_000, LAG_MS).as_deref(), Some("at a.B:d(2)"));
        // A stack of another stall proves nothing.
        assert_eq!(touch.dispatched(20_000, 22_000, LAG_MS).as_deref(), Some(""));
    }

    #[test]
    fn one_gesture_is_reported_once_in_four_seconds() {
        let mut touch = TouchWatch::new();
        let reported: Vec<u64> = (0..100)
            .map(|n| 10_000 + n * 100)
            .filter(|now| touch.dispatched(now - 2_000, *now, LAG_MS).is_some())
            .collect();
        assert_eq!(reported, [10_000, 14_000, 18_000]);
    }
}
