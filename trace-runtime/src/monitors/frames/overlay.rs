//! What the overlay shows: counted on the frames' thread, read by the view's own.

use std::sync::Mutex;

use trace_rules::frame::{BARS, Level, Overlay, OverlayText, Sample};

use crate::monitors::frames::rule::levels;
use crate::unpoisoned::lock;

static OVERLAY: Mutex<Option<Overlay>> = Mutex::new(None);

/// What the view draws.
pub(crate) struct Shown {
    pub(crate) text: OverlayText,
    /// Hundredths of frames per second, newest first; −1 where there is no bar yet.
    pub(crate) bars: [i32; BARS],
    /// Their colours.
    pub(crate) colours: [Level; BARS],
    /// The means of 5 s and 10 s, whole frames per second; −1 until that time is over.
    pub(crate) means: [i32; 2],
}

/// Starts counting: the window is shown.
pub(crate) fn show() {
    *lock(&OVERLAY) = Some(Overlay::new(levels()));
}

/// Stops counting: the window is gone.
pub(crate) fn hide() {
    *lock(&OVERLAY) = None;
}

/// Counts a frame, at `now_ms` of the recording's axis.
pub(crate) fn frame(sample: &Sample, now_ms: u64) {
    if let Some(overlay) = &mut *lock(&OVERLAY) {
        overlay.frame(sample, now_ms);
    }
}

/// What to show at `now_ms`, if a change is due.
pub(crate) fn refresh(now_ms: u64) -> Option<Shown> {
    let mut overlay = lock(&OVERLAY);
    let overlay = overlay.as_mut()?;
    let text = overlay.refresh(now_ms)?;
    let (mut bars, mut colours) = ([-1; BARS], [Level::Best; BARS]);
    for (at, bar) in overlay.bars().iter().enumerate() {
        bars[at] = i32::try_from(*bar).unwrap_or(i32::MAX);
        colours[at] = overlay.colour(*bar);
    }
    let means = overlay.means().map(|mean| mean.map_or(-1, |mean| i32::try_from(mean).unwrap_or(i32::MAX)));
    Some(Shown { text, bars, colours, means })
}
