//! Marks in main's record, and copies of the record from a mark on.

use crate::memory::mark::{Mark, Overwritten};
use crate::memory::ring::Ring;
use crate::memory::slice::Slice;
use crate::recorder::Recorder;

/// A mark in main's record: the place after the last word main has written. Any thread. It stores nothing
/// and needs no release. [`is_valid`] says whether the words after it are still there, [`copy_since`]
/// copies them.
///
/// `None` if nothing is recorded, or if main fills its whole ring faster than the calling thread reads it.
#[must_use]
pub fn mark_here() -> Option<Mark> {
    Recorder::active()?.main_blocks.mark()
}

/// A mark in front of the oldest words of main that are worth copying. `None` if nothing is being recorded.
#[must_use]
pub fn oldest_mark() -> Option<Mark> {
    Recorder::active()?.main_blocks.oldest()
}

/// Whether everything main wrote since the mark is still there. This can change at any time; a copy from
/// [`copy_since`] does not.
#[must_use]
pub fn is_valid(mark: &Mark) -> bool {
    Recorder::active().is_some_and(|recorder| recorder.main_blocks.is_valid(mark))
}

/// Copies what main wrote since the mark into `slice`, reusing its memory. Any thread, while main continues
/// to write: the copy is correct or it is refused.
///
/// # Errors
/// [`Overwritten`] if the ring has wrapped over the mark, before or during the copy, or if recording has
/// ended; `slice` is empty then.
pub fn copy_since(mark: &Mark, slice: &mut Slice) -> Result<(), Overwritten> {
    slice.clear();
    Recorder::active().ok_or(Overwritten)?.main_blocks.copy_since(mark, slice)
}
