//! Matrix's frame rate MID, which tests hold against ours. It is none: it counts multiples of the interval that its
//! own frames took, and cuts each to a millisecond.

/// MID (0.5 to 2.0.8, and from 2.1 below API 24): `FrameTracer.FPSCollector`.
#[derive(Clone, Copy, Default)]
pub(crate) struct MidFps {
    frames: u64,
    /// Matrix adds a `float` to a `long`: the fraction of each frame is lost (16.67 ms become 16).
    sum_ms: i64,
}

impl MidFps {
    /// A frame that ended `jitter_ns` after its intended vsync. Returns the whole frames that it dropped.
    pub(crate) fn frame(&mut self, jitter_ns: i64, interval_ns: i64) -> i32 {
        let interval_ns = interval_ns.max(1);
        let dropped = (jitter_ns / interval_ns) as i32;
        let interval_ms = interval_ns as f32 / 1_000_000.0;
        let took_ms = (dropped.wrapping_add(1)) as f32 * interval_ms;
        self.sum_ms = (self.sum_ms as f32 + took_ms) as i64;
        self.frames += 1;
        dropped
    }

    /// Frames a second, 60 at most; `None` until a frame was counted.
    pub(crate) fn fps(&self) -> Option<f32> {
        (self.sum_ms > 0).then(|| (1_000.0 * self.frames as f32 / self.sum_ms as f32).min(60.0))
    }

    /// The time it counted, ms: at 10,000 it reports.
    pub(crate) fn sum_ms(&self) -> i64 {
        self.sum_ms
    }
}
