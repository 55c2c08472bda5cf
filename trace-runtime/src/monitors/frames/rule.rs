//! The options of frames, as read for counting.

use trace_rules::Rules;
use trace_rules::frame::{DropLevels, Listener, Scenes};

use crate::monitors::config::options::{self, Setting, Text, number};

/// The current levels.
pub(crate) fn levels() -> DropLevels {
    let level = |option| u32::try_from(number(option)).unwrap_or(u32::MAX);
    DropLevels {
        normal: level(Setting::DroppedNormal),
        middle: level(Setting::DroppedMiddle),
        high: level(Setting::DroppedHigh),
        frozen: level(Setting::DroppedFrozen),
    }
}

/// The options of frames.
#[derive(PartialEq, Eq)]
pub(super) struct Rule {
    window_ms: u64,
    threshold: u32,
    pub(super) levels: DropLevels,
    cared: String,
}

impl Rule {
    pub(super) fn in_force() -> Self {
        Rule {
            window_ms: number(Setting::FpsWindowMs),
            threshold: u32::try_from(number(Setting::FpsThreshold)).unwrap_or(u32::MAX),
            levels: levels(),
            cared: options::text(Text::CareScenes),
        }
    }

    pub(super) fn scenes(&self) -> Scenes {
        let listener =
            Listener { interval_ms: self.window_ms, threshold: self.threshold, ..Listener::default() };
        Scenes::new(listener, self.levels, Rules::Anrscope)
            .expect("the table allows no window under 1,000 ms")
    }

    /// Whether frames of this scene are reported.
    pub(super) fn cares(&self, name: &str) -> bool {
        let mut wanted = self.cared.split(';').map(str::trim).filter(|scene| !scene.is_empty()).peekable();
        wanted.peek().is_none() || wanted.any(|scene| scene == name)
    }
}
