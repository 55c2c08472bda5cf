//! The overlay's text and chart.

use super::drops::{Counts, DropLevels, Level};
use super::fps::FpsMeter;
use super::sample::Sample;
use crate::text::fixed;

/// The interval of changes of the text and the chart, ms, at every refresh rate (Matrix's needs 21 frames for a change and never
/// changes at 60 or 90 Hz).
pub const OVERLAY_MS: u64 = 200;
/// After this time without a frame the figure is the display's rate: a static page is not slow.
const STILL_MS: u64 = 250;
/// Bars of the chart: 10 s.
pub const BARS: usize = 50;
/// The weights of the levels' shares in Matrix's figure, in [`Level`]'s order.
const WEIGHTS: [u64; 5] = [0, 1, 14, 25, 60];

/// The text of the overlay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverlayText {
    /// Frames a second, two decimals.
    pub fps: String,
    /// The level whose colour the figure has.
    pub colour: Level,
    /// Since the start: frames of NORMAL, MIDDLE, HIGH, FROZEN.
    pub sum: [u32; 4],
    /// Since the page was entered.
    pub page: [u32; 4],
    /// Each level's share of those four, in percent, since the start and for the page.
    pub shares: [[u8; 4]; 2],
    /// Matrix's weighted figure, since the start and for the page, one decimal.
    pub weighted: [String; 2],
    /// All dropped frames since the start.
    pub dropped: String,
}

/// The overlay's state. A worker updates it; the thread with the window draws it.
pub struct Overlay {
    levels: DropLevels,
    fps: FpsMeter,
    scene: u32,
    sum: Counts,
    page: Counts,
    hz: f32,
    window_from_ms: u64,
    last_frame_ms: u64,
    started: bool,
    /// Hundredths of frames a second, newest first.
    bars: [u32; BARS],
    filled: usize,
}

impl Overlay {
    /// With nothing shown yet.
    #[must_use]
    pub fn new(levels: DropLevels) -> Self {
        Overlay {
            levels,
            fps: FpsMeter::default(),
            scene: 0,
            sum: Counts::default(),
            page: Counts::default(),
            hz: 60.0,
            window_from_ms: 0,
            last_frame_ms: 0,
            started: false,
            bars: [0; BARS],
            filled: 0,
        }
    }

    /// Adds a frame at `now_ms` of uptime. Another scene is another page.
    pub fn frame(&mut self, sample: &Sample, now_ms: u64) {
        if !sample.plausible() {
            return;
        }
        if sample.scene != self.scene {
            self.scene = sample.scene;
            self.page = Counts::default();
            self.fps.pause();
            self.fps.restart();
        }
        if !self.started {
            (self.started, self.window_from_ms) = (true, now_ms);
        }
        self.hz = sample.refresh_hz;
        let dropped = sample.dropped().whole();
        self.sum.add(dropped, &self.levels);
        self.page.add(dropped, &self.levels);
        self.fps.frame(sample.intended_ns, sample.main_end_ns(), sample.interval_ns());
        self.last_frame_ms = now_ms;
    }

    /// The text to show, if 200 ms have passed since the last change; call it as often as you like. In a window without a frame
    /// the figure stays for 250 ms and is the display's rate after that.
    pub fn refresh(&mut self, now_ms: u64) -> Option<OverlayText> {
        if !self.started || now_ms.saturating_sub(self.window_from_ms) < OVERLAY_MS {
            return None;
        }
        self.window_from_ms = now_ms;
        let still = now_ms.saturating_sub(self.last_frame_ms) >= STILL_MS;
        let centi = match self.fps.frames() {
            0 if still => self.most(),
            0 => self.bars[0],
            _ => self.fps.centi_fps().min(self.most()),
        };
        self.fps.restart();
        self.bars.copy_within(..BARS - 1, 1);
        self.bars[0] = centi;
        self.filled = (self.filled + 1).min(BARS);
        Some(self.text(centi))
    }

    /// The display's rate in hundredths.
    fn most(&self) -> u32 {
        (self.hz * 100.0).round() as u32
    }

    fn text(&self, centi: u32) -> OverlayText {
        let bad = |counts: &Counts| [1, 2, 3, 4].map(|level: usize| counts.frames[level]);
        OverlayText {
            fps: fixed(i64::from(centi), 2),
            colour: self.colour(centi),
            sum: bad(&self.sum),
            page: bad(&self.page),
            shares: [shares(&self.sum), shares(&self.page)],
            weighted: [weighted(&self.sum), weighted(&self.page)],
            dropped: self.sum.total_dropped().to_string(),
        }
    }

    /// The level whose colour a figure has, by Matrix 2.1's rule: how far the figure is under the display's rate. At 60 Hz, for
    /// example, a figure of 51 is `Middle`, which begins 9 under the rate.
    #[must_use]
    pub fn colour(&self, centi_fps: u32) -> Level {
        let under = self.most().saturating_sub(centi_fps) / 100;
        // No frames at all are frozen, also where the levels begin beyond the rate.
        self.levels.level(if centi_fps == 0 { u32::MAX } else { under })
    }

    /// The bars so far, newest first, in hundredths of frames a second. Lines stand at 50 and 30.
    #[must_use]
    pub fn bars(&self) -> &[u32] {
        &self.bars[..self.filled]
    }

    /// The mean of the newest 25 and of all 50 bars, whole frames a second: the lines `5s` and `10s`, once there are so many.
    #[must_use]
    pub fn means(&self) -> [Option<u32>; 2] {
        [BARS / 2, BARS].map(|bars| {
            let sum: u64 = self.bars[..bars].iter().map(|bar| u64::from(*bar)).sum();
            (self.filled >= bars).then(|| (sum / bars as u64 / 100) as u32)
        })
    }
}

fn shares(counts: &Counts) -> [u8; 4] {
    let all: u64 = counts.frames[1..].iter().map(|frames| u64::from(*frames)).sum();
    [1, 2, 3, 4]
        .map(|level: usize| (u64::from(counts.frames[level]) * 100).checked_div(all).unwrap_or(0) as u8)
}

/// The share of each level among the slow frames times its weight, one decimal.
fn weighted(counts: &Counts) -> String {
    let all: u64 = counts.frames[1..].iter().map(|frames| u64::from(*frames)).sum();
    let weight = |level: Level| u64::from(counts.frames[level as usize]) * WEIGHTS[level as usize];
    let sum: u64 = Level::ALL.into_iter().map(weight).sum();
    fixed((sum * 10).checked_div(all).unwrap_or(0) as i64, 1)
}
