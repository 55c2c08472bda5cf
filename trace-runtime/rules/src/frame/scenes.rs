//! Counts the frames of each scene and reports them.

use super::drops::{Counts, DropLevels};
use super::fps::FpsMeter;
use super::sample::{METRICS, Sample};
use crate::Rules;
use crate::frame::matrix::HeadFps;

/// The length of a report's window, ms (Matrix `DEFAULT_FPS_TIME_SLICE_ALIVE_MS`).
pub const REPORT_MS: u64 = 10_000;

/// The most scenes that are counted at a time.
const MAX_SCENES: usize = 64;

/// The frames that a listener receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listener {
    /// How long a window is, ms.
    pub interval_ms: u64,
    /// Only frames that dropped so many, at 60 Hz.
    pub threshold: u32,
    /// No report of 20 frames or fewer (Matrix's rule, because of which its overlay never changes at 60 Hz).
    pub more_than_20: bool,
}

impl Default for Listener {
    /// All scenes, every 10 s: the listener that makes `Trace_FPS`.
    fn default() -> Self {
        Listener { interval_ms: REPORT_MS, threshold: 0, more_than_20: false }
    }
}

/// The error for a listener whose windows have no length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadListener;

impl std::fmt::Display for BadListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a frame listener needs a window of at least 1 ms")
    }
}

impl std::error::Error for BadListener {}

/// The frames of a scene in one window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SceneReport {
    /// The scene's text id.
    pub scene: u32,
    /// Frames.
    pub count: u32,
    /// By level.
    pub counts: Counts,
    /// Frames per second of active time, in hundredths.
    pub centi_fps: u32,
    /// Matrix 2.1's figure, one over the mean latency, if it has one.
    pub head_fps: Option<f32>,
    /// The mean of each metric, ns.
    pub metrics: [u64; METRICS],
    /// The mean of the dropped frames, in thousandths of a frame.
    pub dropped_thousandths: u64,
    /// The mean refresh rate, Hz.
    pub refresh_hz: f32,
}

#[derive(Default)]
struct Sums {
    scene: u32,
    began_ms: u64,
    count: u32,
    counts: Counts,
    fps: FpsMeter,
    head: HeadFps,
    metrics: [u64; METRICS],
    dropped_thousandths: u64,
    refresh_hz: f64,
}

impl Sums {
    fn add(&mut self, sample: &Sample, levels: &DropLevels, rules: Rules) {
        let dropped = sample.dropped();
        self.count += 1;
        let whole = if rules == Rules::Matrix { dropped.rounded() } else { dropped.whole() };
        self.counts.add(whole, levels);
        self.fps.frame(sample.intended_ns, sample.main_end_ns(), sample.interval_ns());
        self.head.frame(sample.total_ns(), sample.refresh_hz);
        for (sum, ns) in self.metrics.iter_mut().zip(sample.metrics) {
            *sum = sum.saturating_add(u64::try_from(ns).unwrap_or(0));
        }
        self.dropped_thousandths = self.dropped_thousandths.saturating_add(dropped.thousandths());
        self.refresh_hz += f64::from(sample.refresh_hz);
    }

    fn report(&self) -> SceneReport {
        let count = u64::from(self.count.max(1));
        SceneReport {
            scene: self.scene,
            count: self.count,
            counts: self.counts,
            centi_fps: self.fps.centi_fps(),
            head_fps: self.head.fps(),
            metrics: self.metrics.map(|sum| sum / count),
            dropped_thousandths: self.dropped_thousandths / count,
            refresh_hz: (self.refresh_hz / count as f64) as f32,
        }
    }

    fn restart(&mut self) {
        let mut fps = self.fps;
        fps.restart();
        *self = Sums { scene: self.scene, fps, ..Sums::default() };
    }
}

/// Counts frames for one listener, each scene apart.
pub struct Scenes {
    listener: Listener,
    levels: DropLevels,
    rules: Rules,
    sums: Vec<Sums>,
}

impl Scenes {
    /// With no frames counted yet.
    ///
    /// # Errors
    /// If the listener's window has no length.
    pub fn new(listener: Listener, levels: DropLevels, rules: Rules) -> Result<Self, BadListener> {
        if listener.interval_ms == 0 {
            return Err(BadListener);
        }
        Ok(Scenes { listener, levels, rules, sums: Vec::new() })
    }

    /// Adds a frame at `now_ms` of uptime. Returns the report of its scene if that window is over.
    pub fn frame(&mut self, sample: &Sample, now_ms: u64) -> Option<SceneReport> {
        if !sample.plausible() || !sample.dropped().reaches(self.listener.threshold, sample.interval_ns()) {
            return None;
        }
        let at = match self.sums.iter().position(|sums| sums.scene == sample.scene) {
            Some(at) => at,
            None => {
                if self.sums.len() == MAX_SCENES {
                    // Drop the oldest scene: the app left it long ago, or its window would be over.
                    self.sums.remove(0);
                }
                self.sums.push(Sums { scene: sample.scene, ..Sums::default() });
                self.sums.len() - 1
            }
        };
        let sums = &mut self.sums[at];
        if sums.count == 0 {
            sums.began_ms = now_ms;
        }
        sums.add(sample, &self.levels, self.rules);
        if now_ms.saturating_sub(sums.began_ms) < self.listener.interval_ms {
            return None;
        }
        self.take(at)
    }

    /// The page was left: the reports of all scenes so far.
    pub fn flush(&mut self) -> Vec<SceneReport> {
        let reports = (0..self.sums.len()).filter_map(|at| self.take(at)).collect();
        self.sums.clear();
        reports
    }

    fn take(&mut self, at: usize) -> Option<SceneReport> {
        let sums = &mut self.sums[at];
        let enough = sums.count > if self.listener.more_than_20 { HeadFps::TOO_FEW } else { 0 };
        let report = enough.then(|| sums.report());
        sums.restart();
        report
    }
}
