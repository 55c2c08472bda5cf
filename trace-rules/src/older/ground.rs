//! `ApplicationLifeObserver`: 600 ms in both directions.

use crate::foreground::Ground;

/// How long a change must last.
pub const OLD_DEBOUNCE_MS: u64 = 600;

/// Foreground by its rules: at once, but told after 600 ms; background after 600 ms without a resume.
#[derive(Debug, Default)]
pub struct OldGround {
    foreground: bool,
    paused: bool,
    due: Option<(u64, Ground)>,
}

impl OldGround {
    /// `onActivityResumed`.
    pub fn resumed(&mut self, now_ms: u64) {
        self.paused = false;
        if !std::mem::replace(&mut self.foreground, true) {
            self.due = Some((now_ms + OLD_DEBOUNCE_MS, Ground::Foreground));
        }
    }

    /// `onActivityPaused`. What is pending is cancelled.
    pub fn paused(&mut self, now_ms: u64) {
        self.paused = true;
        self.due = Some((now_ms + OLD_DEBOUNCE_MS, Ground::Background));
    }

    /// The time has come, or not yet.
    pub fn tick(&mut self, now_ms: u64) -> Option<Ground> {
        let (_, change) = self.due.filter(|(due, _)| now_ms >= *due)?;
        self.due = None;
        if change == Ground::Background {
            if !(self.foreground && self.paused) {
                return None;
            }
            self.foreground = false;
        }
        Some(change)
    }

    /// Whether it takes the app for being in the foreground.
    #[must_use]
    pub fn is_foreground(&self) -> bool {
        self.foreground
    }
}
