//! The frame reports of Matrix 0.4 (option `older_fps`).

use trace_rules::frame::matrix::{Matrix04Fps, Matrix04Report};
use trace_rules::frame::{DropLevels, METRICS, Sample, SceneReport};

/// Feeds [`Matrix04Fps`] and reports every 2 minutes.
pub(super) struct Matrix04Frames {
    fps: Matrix04Fps,
    /// Scenes by their number in [`OldFps`], which has 10 bits.
    scenes: Vec<u32>,
    last: Option<Sample>,
    began_ms: Option<u64>,
}

/// The most scenes that 10 bits distinguish.
const MAX_SCENES: usize = 1 << 10;

impl Matrix04Frames {
    pub(super) fn new(levels: DropLevels) -> Self {
        Matrix04Frames { fps: Matrix04Fps::new(levels), scenes: Vec::new(), last: None, began_ms: None }
    }

    /// Adds a frame; returns the reports once 2 minutes are over.
    pub(super) fn frame(&mut self, sample: &Sample, now_ms: u64) -> Vec<SceneReport> {
        if !sample.plausible() {
            return Vec::new();
        }
        if let Some(last) = self.last.replace(*sample) {
            let scene = self.number(last.scene);
            self.fps.frame(scene, period_ns(&last, sample));
        }
        let began_ms = *self.began_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(began_ms) < Matrix04Fps::CYCLE_MS {
            return Vec::new();
        }
        self.began_ms = Some(now_ms);
        let reports = self.fps.report();
        reports.iter().map(|report| self.scene_report(report)).collect()
    }

    fn number(&mut self, scene: u32) -> u32 {
        let known = self.scenes.iter().position(|known| *known == scene);
        let at = known.unwrap_or_else(|| {
            self.scenes.push(scene);
            self.scenes.len() - 1
        });
        (at % MAX_SCENES) as u32
    }

    fn scene_report(&self, report: &Matrix04Report) -> SceneReport {
        SceneReport {
            scene: self.scenes.get(report.scene as usize).copied().unwrap_or(0),
            count: report.counts.frames.iter().sum(),
            counts: report.counts,
            centi_fps: (report.fps * 100.0).round() as u32,
            head_fps: None,
            metrics: [0; METRICS],
            dropped_thousandths: 0,
            refresh_hz: 0.0,
        }
    }
}

/// The time from the previous vsync to the one of `next`. Matrix's callback ran at every vsync and counted
/// those with a draw: the vsync before a frame that follows a pause was one without.
fn period_ns(last: &Sample, next: &Sample) -> u64 {
    let interval_ns = last.interval_ns();
    let between_ns = next.intended_ns.saturating_sub(last.intended_ns);
    let own_ns =
        last.main_end_ns().saturating_sub(last.intended_ns).div_ceil(interval_ns).max(1) * interval_ns;
    if between_ns <= own_ns + interval_ns / 2 { between_ns } else { own_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_rules::frame::Metric;

    fn sample(scene: u32, intended_ns: u64, took_ns: u64) -> Sample {
        let mut metrics = [0; METRICS];
        metrics[Metric::Draw as usize] = took_ns as i64;
        metrics[Metric::Total as usize] = took_ns as i64;
        Sample { scene, intended_ns, refresh_hz: 60.0, metrics }
    }

    #[test]
    fn two_minutes_of_frames_are_slices_of_six_seconds_without_pauses() {
        const INTERVAL: u64 = 16_666_667;
        let mut frames_04 = Matrix04Frames::new(DropLevels::default());
        let mut at = 1_000 * INTERVAL;
        let mut reports = Vec::new();
        let mut frames = 0;
        while reports.is_empty() {
            // A second of frames, a second of nothing; each fifth frame takes 10 intervals.
            for n in 0..60 {
                let slow = n % 5 == 4;
                let took = if slow { 10 * INTERVAL - 1_000 } else { 5_000_000 };
                reports.extend(frames_04.frame(&sample(70_000, at, took), at / 1_000_000));
                frames += 1;
                at += if slow { 10 * INTERVAL } else { INTERVAL };
            }
            at += 60 * INTERVAL;
        }
        assert!(frames > 1_000);
        for report in &reports {
            assert_eq!(report.scene, 70_000);
            // 5 frames in 14 intervals.
            assert!((report.centi_fps as i64 - 2_143).abs() < 60, "{report:?}");
            // 166.66 ms are 10 by 16.00 ms, less one: 9.
            assert_eq!(report.counts.dropped[2], report.counts.frames[2] * 9);
        }
    }
}
