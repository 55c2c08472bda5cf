//! Marks in what main wrote, and copies of it from a mark on.

use crate::memory::mark::{Mark, Overwritten};
use crate::memory::ring::Ring;
use crate::memory::slice::Slice;
use crate::recorder::Recorder;

/// A mark in main's record: the place behind what main has written so far. On any thread. It stores nothing and
/// needs no release; to look whether its words are still there, or copy them, see [`is_valid`] and
/// [`copy_since`].
///
/// `None` if nothing is being recorded (or main fills its whole ring faster than the calling thread looks).
#[must_use]
pub fn mark_here() -> Option<Mark> {
    Recorder::active()?.main_blocks.mark()
}

/// A mark in front of the oldest words of main that are worth copying. `None` if nothing is being recorded.
#[must_use]
pub fn oldest_mark() -> Option<Mark> {
    Recorder::active()?.main_blocks.oldest()
}

/// Whether all that main wrote since the mark is still there. That may change at once: a copy that
/// [`copy_since`] gave does not.
#[must_use]
pub fn is_valid(mark: &Mark) -> bool {
    Recorder::active().is_some_and(|recorder| recorder.main_blocks.is_valid(mark))
}

/// Copies what main wrote from the mark to now into `slice`, whose memory is used again. On any thread, while
/// main writes on: the copy is right or refused.
///
/// # Errors
/// [`Overwritten`] if the ring has wrapped over the mark, or did while copying, or nothing is recorded any more;
/// `slice` is empty then.
pub fn copy_since(mark: &Mark, slice: &mut Slice) -> Result<(), Overwritten> {
    slice.clear();
    Recorder::active().ok_or(Overwritten)?.main_blocks.copy_since(mark, slice)
}
