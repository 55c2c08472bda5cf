//! The measurements of one frame once it is over.

use super::drops::{Dropped, dropped, interval_ns};

/// The metrics of `FrameMetrics` (API 24), by the names of Matrix's reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Metric {
    /// From the vsync until the frame began.
    UnknownDelay = 0,
    /// Input callbacks.
    InputHandling = 1,
    /// Animation callbacks.
    Animation = 2,
    /// Measure and layout.
    LayoutMeasure = 3,
    /// Recording the drawing.
    Draw = 4,
    /// Handing it to the render thread.
    Sync = 5,
    /// Commands to the GPU.
    CommandIssue = 6,
    /// Swapping buffers.
    SwapBuffers = 7,
    /// The whole frame.
    Total = 8,
    /// The GPU (API 31).
    Gpu = 9,
}

/// The number of metrics.
pub const METRICS: usize = 10;

impl Metric {
    /// The metrics' keys in a report, in the order of their numbers.
    pub const KEYS: [&'static str; METRICS] = [
        "UNKNOWN_DELAY_DURATION",
        "INPUT_HANDLING_DURATION",
        "ANIMATION_DURATION",
        "LAYOUT_MEASURE_DURATION",
        "DRAW_DURATION",
        "SYNC_DURATION",
        "COMMAND_ISSUE_DURATION",
        "SWAP_BUFFERS_DURATION",
        "TOTAL_DURATION",
        "GPU_DURATION",
    ];
}

/// A frame, measured by FrameMetrics, or below API 24 by [`super::Stages`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// The scene's text id.
    pub scene: u32,
    /// The vsync that it was for, ns.
    pub intended_ns: u64,
    /// The refresh rate at that moment, Hz.
    pub refresh_hz: f32,
    /// What each part took, ns; what is not known is 0. `i64` because the system's may be negative.
    pub metrics: [i64; METRICS],
}

impl Sample {
    /// One part, ns.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> i64 {
        self.metrics[metric as usize]
    }

    /// Whether its figures are plausible. Some systems (Honor) deliver negative and enormous ones; GPU is not checked, as in
    /// Matrix.
    #[must_use]
    pub fn plausible(&self) -> bool {
        self.metrics[..=Metric::Total as usize].iter().all(|ns| (0..i64::MAX / 2).contains(ns))
    }

    /// The interval between two vsyncs, ns.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        interval_ns(self.refresh_hz)
    }

    /// From its vsync until all of it was done, ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        u64::try_from(self.metric(Metric::Total)).unwrap_or(0)
    }

    /// When main was done with it, ns: up to and with handing it to the render thread, or all of it where the parts are not
    /// known.
    #[must_use]
    pub fn main_end_ns(&self) -> u64 {
        let main: i64 =
            self.metrics[..=Metric::Sync as usize].iter().fold(0, |sum, ns| sum.saturating_add(*ns));
        let took_ns = if main > 0 { main as u64 } else { self.total_ns() };
        self.intended_ns.saturating_add(took_ns)
    }

    /// The frames that it dropped.
    #[must_use]
    pub fn dropped(&self) -> Dropped {
        dropped(self.total_ns(), self.interval_ns())
    }
}
