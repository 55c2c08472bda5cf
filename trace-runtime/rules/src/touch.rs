//! Touch lag: input that waited for main.
//!
//! No hooks: for each event that a window dispatches, the shim passes when it happened (`InputEvent.getEventTime`) and when it
//! was dispatched. An event that is that old waited for main, so the stack that explains it was taken during the stall:
//! [`crate::looper::Watch`] triggers that at its limits and the sample is remembered here. Nothing runs in between.

/// The time without a second report, ms: one stall delays the many events of one gesture (2 · 2,000 in Matrix).
pub const AGAIN_MS: u64 = 4_000;

/// A stack of main, taken during a stall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StallSample {
    /// When it was taken, ms of uptime.
    pub at_ms: u64,
    /// The embedder's number for it.
    pub sample: u64,
}

/// Watches one process's touch events.
#[derive(Debug, Default)]
pub struct TouchWatch {
    newest: Option<StallSample>,
    reported_ms: Option<u64>,
}

impl TouchWatch {
    /// Notes a stack that was taken during a stall.
    pub fn stalled(&mut self, sample: StallSample) {
        self.newest = Some(sample);
    }

    /// Checks an event that happened at `event_ms` and is dispatched at `now_ms`, both in ms of uptime. It is a lag if it waited
    /// `threshold_ms` or more, and comes with main's stack if one was taken between the event and its dispatch.
    pub fn dispatched(
        &mut self,
        event_ms: u64,
        now_ms: u64,
        threshold_ms: u64,
    ) -> Option<Option<StallSample>> {
        if now_ms.saturating_sub(event_ms) < threshold_ms
            || self.reported_ms.is_some_and(|reported| now_ms.saturating_sub(reported) < AGAIN_MS)
        {
            return None;
        }
        self.reported_ms = Some(now_ms);
        Some(self.newest.filter(|sample| (event_ms..=now_ms).contains(&sample.at_ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrix's `DEFAULT_TOUCH_EVENT_LAG`.
    const LAG_MS: u64 = 2_000;

    #[test]
    fn the_stack_is_taken_at_the_stall_and_reported_at_the_dispatch() {
        let mut touch = TouchWatch::default();
        assert_eq!(touch.dispatched(1_000, 2_999, LAG_MS), None);
        let sample = StallSample { at_ms: 12_000, sample: 5 };
        touch.stalled(sample);
        assert_eq!(touch.dispatched(10_500, 13_000, LAG_MS), Some(Some(sample)));
        // A stack of another stall proves nothing.
        let later = touch.dispatched(20_000, 22_000, LAG_MS);
        assert_eq!(later, Some(None));
    }

    #[test]
    fn one_gesture_is_reported_once_in_four_seconds() {
        let mut touch = TouchWatch::default();
        let reported: Vec<u64> = (0..100)
            .map(|n| 10_000 + n * 100)
            .filter(|now| touch.dispatched(now - 2_000, *now, LAG_MS).is_some())
            .collect();
        assert_eq!(reported, [10_000, 14_000, 18_000]);
    }
}
