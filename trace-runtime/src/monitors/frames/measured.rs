//! A frame's `FrameMetrics`, and its event.

use trace_format::event::{Event, FrameMetrics};
use trace_rules::frame::{METRICS, Metric, Sample};

use super::of_monotonic;
use crate::writing::events;

/// A frame's `FrameMetrics`; times by CLOCK_MONOTONIC, ns, 0 where the system has none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) metrics: [i64; METRICS],
    pub(crate) intended: i64,
    pub(crate) vsync: i64,
    pub(crate) deadline: i64,
    /// Frames of this window since the last one whose metrics the system dropped.
    pub(crate) lost: u32,
}

impl Measured {
    /// Records the event; `sample` is made from this.
    pub(super) fn record(&self, sample: &Sample) {
        let ns = |metric| u64::try_from(sample.metric(metric)).unwrap_or(0);
        let metrics = FrameMetrics {
            intended: if self.intended > 0 { sample.intended_ns } else { 0 },
            vsync: of_monotonic(u64::try_from(self.vsync).unwrap_or(0)),
            delay: ns(Metric::UnknownDelay),
            input: ns(Metric::InputHandling),
            animation: ns(Metric::Animation),
            layout: ns(Metric::LayoutMeasure),
            draw: ns(Metric::Draw),
            sync: ns(Metric::Sync),
            command: ns(Metric::CommandIssue),
            swap: ns(Metric::SwapBuffers),
            total: ns(Metric::Total),
            gpu: ns(Metric::Gpu),
            deadline: u64::try_from(self.deadline).unwrap_or(0),
        };
        events::record(&Event::FrameMetrics(metrics).encode());
    }
}
