//! Matrix's formulas for frames per second and dropped frames, by name, to compare with earlier figures.
//!
//! Neither is a frame rate: HEAD is one over the mean latency, and OLD divides by 16.00 ms.

use super::drops::{Counts, DropLevels};

/// HEAD (from 2.1, API 24): `FrameTracer.SceneFrameCollectItem`.
#[derive(Clone, Copy, Default)]
pub struct HeadFps {
    frames: u32,
    total_ns: u64,
}

impl HeadFps {
    /// Matrix reports only more frames than this.
    pub const TOO_FEW: u32 = 20;

    /// A frame whose TOTAL_DURATION is `total_ns`. Returns what it dropped, in frames.
    pub fn frame(&mut self, total_ns: u64, refresh_hz: f32) -> f32 {
        let interval = 1e9 / refresh_hz;
        self.frames += 1;
        self.total_ns += total_ns.max(interval as u64);
        ((total_ns as f32 - interval) / interval).max(0.0)
    }

    /// One over the mean latency; `None` unless there were more than 20 frames.
    #[must_use]
    pub fn fps(&self) -> Option<f32> {
        (self.frames > Self::TOO_FEW).then(|| (1e9 / (self.total_ns as f64 / f64::from(self.frames))) as f32)
    }
}

/// OLD (0.4): `FPSTracer`'s words, 2-minute reports of slices of at least 6 s.
pub struct Matrix04Fps {
    /// Frame words: scene number in the upper 10 bits, period in 10 µs in the lower 22.
    words: Vec<u32>,
    levels: DropLevels,
}

/// One report of [`Matrix04Fps`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Matrix04Report {
    /// The scene's number.
    pub scene: u32,
    /// Frames a second, 60 at most.
    pub fps: f32,
    /// The counts of its frames.
    pub counts: Counts,
}

impl Matrix04Fps {
    /// How often it reports: 2 minutes.
    pub const CYCLE_MS: u64 = 120_000;
    /// A slice is at least this long, in 10 µs.
    pub const SLICE_10_US: u64 = 600_000;
    /// The most words that are kept: 2 minutes in the foreground at 120 Hz have 14,400.
    pub const MAX_WORDS: usize = 1 << 16;

    /// With no frames counted yet.
    #[must_use]
    pub fn new(levels: DropLevels) -> Self {
        Matrix04Fps { words: Vec::new(), levels }
    }

    /// A frame of scene `scene` (10 bits), `period_ns` after the one before. Periods wrap at 41.9 s.
    pub fn frame(&mut self, scene: u32, period_ns: u64) {
        if self.words.len() < Self::MAX_WORDS {
            self.words.push((scene & 0x3FF) << 22 | (period_ns / 10_000) as u32 & 0x3F_FFFF);
        }
    }

    /// The reports of each scene's full slices. The rest stays for the next round.
    pub fn report(&mut self) -> Vec<Matrix04Report> {
        let mut reports = Vec::new();
        let mut rest = Vec::new();
        let mut scenes: Vec<u32> = self.words.iter().map(|word| word >> 22).collect();
        scenes.sort_unstable();
        scenes.dedup();
        for scene in scenes {
            let mut slice = Vec::new();
            let mut sum = 0u64;
            for word in self.words.iter().filter(|word| **word >> 22 == scene) {
                slice.push(*word);
                sum += u64::from(word & 0x3F_FFFF);
                if sum >= Self::SLICE_10_US {
                    reports.push(self.slice(scene, &slice, sum));
                    slice.clear();
                    sum = 0;
                }
            }
            rest.append(&mut slice);
        }
        self.words = rest;
        reports
    }

    fn slice(&self, scene: u32, words: &[u32], sum: u64) -> Matrix04Report {
        let fps = (1e5 * words.len() as f64 / sum as f64).min(60.0) as f32;
        let mut report = Matrix04Report { scene, fps, counts: Counts::default() };
        for word in words {
            report.counts.add(((word & 0x3F_FFFF) / 1_600).saturating_sub(1), &self.levels);
        }
        report
    }
}
