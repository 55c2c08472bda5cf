//! Converts a recording's frames to Matrix's scene reports.
//!
//! The system's own metrics (FrameMetrics, API 24) are used if present; otherwise main's frame and stage
//! events, and then the means of the parts are omitted, as in Matrix's second generation.

use trace_format::event::{Frame, FrameMetrics, Stage, TextId};
use trace_rules::Rules;
use trace_rules::frame::{DropLevels, Listener, METRICS, Metric, Sample, SceneReport, Scenes};

/// The frame interval if none is recorded, ns.
const INTERVAL: u64 = 16_666_667;
/// Maximum number of reports.
const MAX_REPORTS: usize = 4096;

/// The scenes of a recording.
pub(super) struct SceneReports {
    /// Each report with the end of its window, BOOTTIME ns.
    pub(super) reports: Vec<(u64, SceneReport)>,
    /// True if the reports are from the system's own metrics.
    pub(super) means: bool,
    /// The first API level with all the metrics that the recording has.
    pub(super) api: u32,
}

/// An open frame of main.
#[derive(Clone, Copy, Debug)]
struct Open {
    frame: Frame,
    begun: u64,
    stage: Option<(Stage, u64)>,
    /// By [`Metric`].
    metrics: [i64; METRICS],
}

/// Counts the frames of a recording: first main's events, then the metrics of other threads.
pub(super) struct FrameCounts {
    rules: Rules,
    own: Counter,
    system: Counter,
    gpu: bool,
    open: Option<Open>,
    /// Scenes, each with the time at which it became visible.
    scenes: Vec<(u64, u32)>,
    /// Frame intervals, each with the time from which it applied.
    intervals: Vec<(u64, u64)>,
}

struct Counter {
    scenes: Scenes,
    last: Option<(u32, u64)>,
    reports: Vec<(u64, SceneReport)>,
}

impl Counter {
    fn new(rules: Rules) -> Self {
        let listener = Listener { more_than_20: rules == Rules::Matrix, ..Listener::default() };
        let scenes =
            Scenes::new(listener, DropLevels::default(), rules).expect("the default window has a length");
        Self { scenes, last: None, reports: Vec::new() }
    }

    fn frame(&mut self, sample: &Sample, end: u64) {
        if self.last.is_some_and(|(scene, _)| scene != sample.scene) {
            self.flush();
        }
        self.last = Some((sample.scene, end));
        let report = self.scenes.frame(sample, end / 1_000_000);
        self.push(end, report);
    }

    fn flush(&mut self) {
        let end = self.last.map_or(0, |(_, end)| end);
        for report in self.scenes.flush() {
            self.push(end, Some(report));
        }
    }

    fn push(&mut self, at: u64, report: Option<SceneReport>) {
        if self.reports.len() < MAX_REPORTS {
            self.reports.extend(report.map(|report| (at, report)));
        }
    }
}

impl FrameCounts {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            own: Counter::new(rules),
            system: Counter::new(rules),
            gpu: false,
            open: None,
            scenes: Vec::new(),
            intervals: Vec::new(),
        }
    }

    /// Sets the scene from `at` on.
    pub(super) fn scene(&mut self, at: u64, scene: TextId) {
        if self.scenes.last().is_none_or(|(_, last)| *last != scene.0) {
            self.scenes.push((at, scene.0));
        }
    }

    /// The scene at `at`; the empty text if unknown.
    pub(super) fn scene_at(&self, at: u64) -> TextId {
        TextId(latest(&self.scenes, at).unwrap_or(0))
    }

    pub(super) fn begin(&mut self, at: u64, frame: Frame) {
        let interval =
            if (1_000_000..1_000_000_000).contains(&frame.interval) { frame.interval } else { INTERVAL };
        if self.intervals.last().is_none_or(|(_, last)| *last != interval) {
            self.intervals.push((at, interval));
        }
        self.open = Some(Open { frame, begun: at, stage: None, metrics: [0; METRICS] });
    }

    pub(super) fn stage_begin(&mut self, at: u64, stage: Stage) {
        if let Some(open) = &mut self.open {
            open.stage = Some((stage, at));
        }
    }

    pub(super) fn stage_end(&mut self, at: u64, stage: Stage) {
        let Some(open) = &mut self.open else { return };
        let Some((_, begun)) = open.stage.take_if(|(open, _)| *open == stage) else { return };
        let metric = match stage {
            Stage::Input => Metric::InputHandling,
            Stage::Animation | Stage::InsetsAnimation => Metric::Animation,
            Stage::Traversal => Metric::LayoutMeasure,
            Stage::Commit => return,
        };
        open.metrics[metric as usize] += signed(at.saturating_sub(begun));
    }

    /// Notes that the open frame was skipped.
    pub(super) fn skipped(&mut self) {
        self.open = None;
    }

    pub(super) fn end(&mut self, at: u64) {
        let Some(mut open) = self.open.take() else { return };
        let intended = match open.frame.intended {
            intended if intended > 0 && intended <= open.begun => intended,
            _ => open.begun,
        };
        open.metrics[Metric::UnknownDelay as usize] = signed(open.begun - intended);
        open.metrics[Metric::Total as usize] = signed(at.saturating_sub(intended));
        let sample = self.sample(intended, open.metrics);
        self.own.frame(&sample, at);
    }

    /// Adds the system's own metrics of a frame, recorded at `at`.
    pub(super) fn metrics(&mut self, at: u64, m: &FrameMetrics) {
        let metrics =
            [m.delay, m.input, m.animation, m.layout, m.draw, m.sync, m.command, m.swap, m.total, m.gpu]
                // Values beyond i64 are implausible, and stay so.
                .map(|ns| i64::try_from(ns).unwrap_or(-1));
        self.gpu |= m.gpu > 0;
        let intended = if m.intended > 0 { m.intended } else { at.saturating_sub(m.total) };
        let sample = self.sample(intended, metrics);
        self.system.frame(&sample, at);
    }

    fn sample(&self, intended: u64, metrics: [i64; METRICS]) -> Sample {
        let interval =
            latest(&self.intervals, intended).or(self.intervals.first().map(|i| i.1)).unwrap_or(INTERVAL);
        Sample {
            scene: latest(&self.scenes, intended).unwrap_or(0),
            intended_ns: intended,
            refresh_hz: (1e9 / interval as f64) as f32,
            metrics,
        }
    }

    /// The reports, by time.
    pub(super) fn finish(mut self) -> SceneReports {
        self.own.flush();
        self.system.flush();
        let means = !self.system.reports.is_empty();
        let mut reports = if means { self.system.reports } else { self.own.reports };
        for (_, report) in &mut reports {
            // Matrix's own figure, the reciprocal of the mean latency.
            if let (Rules::Matrix, Some(fps)) = (self.rules, report.head_fps) {
                report.centi_fps = (f64::from(fps) * 100.0) as u32;
            }
        }
        SceneReports { reports, means, api: if self.gpu { 31 } else { 24 } }
    }
}

/// A number as Matrix has it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The value that applied at `at`.
fn latest<T: Copy>(values: &[(u64, T)], at: u64) -> Option<T> {
    let n = values.partition_point(|(since, _)| *since <= at);
    values[..n].last().map(|(_, value)| *value)
}
