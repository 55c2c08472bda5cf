//! Decides whether a message was slow.

use std::sync::atomic::{AtomicU32, Ordering};

/// The length from which on a message is slow, ms (Matrix `DEFAULT_EVIL_METHOD_THRESHOLD_MS`).
pub const SLOW_MS: u32 = 700;

/// The threshold, which any thread may change while messages run.
#[derive(Debug)]
pub struct SlowMessage {
    threshold_ms: AtomicU32,
}

impl Default for SlowMessage {
    fn default() -> Self {
        SlowMessage { threshold_ms: AtomicU32::new(SLOW_MS) }
    }
}

impl SlowMessage {
    /// Sets the threshold, from the next end on.
    pub fn set_threshold_ms(&self, threshold_ms: u32) {
        self.threshold_ms.store(threshold_ms, Ordering::Relaxed);
    }

    /// The length from which on a message is slow, ms.
    #[must_use]
    pub fn threshold_ms(&self) -> u32 {
        self.threshold_ms.load(Ordering::Relaxed)
    }

    /// The cost in whole milliseconds if a message that took so long was slow. 699.999 ms are 699.
    #[inline]
    #[must_use]
    pub fn cost_ms(&self, took_ns: u64) -> Option<u64> {
        let cost_ms = took_ns / 1_000_000;
        (cost_ms >= u64::from(self.threshold_ms())).then_some(cost_ms)
    }
}
