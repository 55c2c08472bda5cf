//! Measures frames per second of active time.
//!
//! A static page draws nothing, and is not slow. So only the time counts in which a frame was requested: from the
//! vsync for which it was requested until it was done. The vsyncs show:
//!
//! * A frame takes whole vsyncs: one if it ends within its interval, more if not.
//! * If the next frame's vsync comes before that ends, or with its end, it was requested in time, and the time between the
//!   two vsyncs belongs to the first. That holds for a late frame too: Choreographer requests the next vsync when the frame
//!   begins, so the next frame's *intended* vsync is early and its start is late, and it inherits the delay.
//! * If it comes later than that, nothing was requested in between: the gap is idle.
//!
//! A delay by a slow message that is no frame counts by the same rule: the waiting frame has its intended vsync
//! before the message ends. Frames of a pipeline overlap behind main; only main's part counts, and back pressure
//! appears there.

/// Half an interval of tolerance: vsyncs are not exact.
const TOLERANCE: u64 = 2;

#[derive(Clone, Copy, Default)]
struct Last {
    intended_ns: u64,
    end_ns: u64,
    interval_ns: u64,
    /// The part of its time that counts which were restarted included.
    counted_ns: i64,
}

impl Last {
    /// The time that it takes by itself: whole intervals.
    fn own_ns(&self) -> u64 {
        let took_ns = self.end_ns.saturating_sub(self.intended_ns);
        took_ns.div_ceil(self.interval_ns).max(1).saturating_mul(self.interval_ns)
    }

    /// The time left to count if it took `took_ns`. Negative if too much was counted before.
    fn left_ns(&self, took_ns: u64) -> i64 {
        i64::try_from(took_ns).unwrap_or(i64::MAX).saturating_sub(self.counted_ns)
    }
}

/// Counts frames and the time in which they were requested.
#[derive(Clone, Copy, Default)]
pub struct FpsMeter {
    last: Option<Last>,
    frames: u64,
    active_ns: i64,
}

impl FpsMeter {
    /// A frame for the vsync at `intended_ns`, which main ended at `end_ns`, while the display had a vsync every `interval_ns`.
    /// Frames come in the order of their vsyncs; two windows' frames of one vsync are one.
    pub fn frame(&mut self, intended_ns: u64, end_ns: u64, interval_ns: u64) {
        let this = Last {
            intended_ns,
            end_ns: end_ns.max(intended_ns),
            interval_ns: interval_ns.max(1),
            counted_ns: 0,
        };
        if let Some(last) = &mut self.last {
            // Where the display slows down, the first vsync of the longer interval may follow the last one of the shorter closely.
            let shorter_ns = last.interval_ns.min(this.interval_ns);
            if intended_ns <= last.intended_ns.saturating_add(shorter_ns / TOLERANCE)
                && intended_ns.saturating_add(this.interval_ns) > last.intended_ns
            {
                last.end_ns = last.end_ns.max(this.end_ns);
                return;
            }
            // The clock ran back: the time between is not known.
            let between_ns = intended_ns.checked_sub(last.intended_ns).unwrap_or_else(|| last.own_ns());
            let in_time_ns = last.own_ns().saturating_add(last.interval_ns / TOLERANCE);
            self.active_ns += last.left_ns(if between_ns <= in_time_ns { between_ns } else { last.own_ns() });
        }
        self.frames += 1;
        self.last = Some(this);
    }

    /// The page was left: the next frame starts a new interval.
    pub fn pause(&mut self) {
        if let Some(last) = self.last.take() {
            self.active_ns += last.left_ns(last.own_ns());
        }
    }

    /// Frames so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The time in which a frame was requested, with the last frame's own time, ns.
    #[must_use]
    pub fn active_ns(&self) -> u64 {
        self.active_ns.saturating_add(self.last.map_or(0, |last| last.left_ns(last.own_ns()))).max(0) as u64
    }

    /// Frames per second of active time in hundredths, 0 if there was no frame.
    #[must_use]
    pub fn centi_fps(&self) -> u32 {
        let active_ns = self.active_ns();
        // Enough for two weeks at 120 Hz.
        let hundredths = self.frames.saturating_mul(100 * 1_000_000_000).saturating_add(active_ns / 2);
        u32::try_from(hundredths.checked_div(active_ns).unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Restarts the counts. The last frame's time was counted up to its own end; time beyond that counts from now on.
    pub fn restart(&mut self) {
        self.frames = 0;
        self.active_ns = 0;
        if let Some(last) = &mut self.last {
            last.counted_ns = i64::try_from(last.own_ns()).unwrap_or(i64::MAX);
        }
    }
}
