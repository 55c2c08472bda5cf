//! A ring of blocks with one writer, which takes them in turn, and marks in what it writes.
//!
//! A [`Mark`] is a place in the writer's words, counted from the first word it ever wrote. It is registered
//! nowhere: placing one stores nothing, dropping one needs no call, and whether its words are still there
//! follows from the ring alone. Matrix's `IndexRecord` has the same purpose: a list of indices that the
//! writer invalidates as it passes them. It checked only the first one, so that others stayed "valid" over
//! words of the next lap.
//!
//! * A mark is valid as long as no word from its place on is overwritten.
//! * A slice is all words from the mark to the moment of the call, except for those of the last ticks that
//!   may be retracted, or it is refused. Events are never split: a mark is between two events, and the head
//!   moves by whole events.
//! * Marks may be placed, checked and copied from on any thread, while the writer writes; no thread waits.

use crate::memory::block::{self, BlockMemory, Extent, Observed};
use crate::memory::mark::{Mark, Overwritten};
use crate::memory::slice::Slice;

/// How often placing a mark is retried. The writer has to pass through the whole ring meanwhile to cause one
/// retry.
const ATTEMPTS: usize = 64;

/// A ring as its readers see it. The block with sequence number `n` is `block(n)` until `opened` reaches `n +
/// 1 + length`.
pub(crate) trait Ring {
    /// Its blocks.
    type Block: BlockMemory;

    /// How many blocks the writer was ever given. Counted before a block's life starts, with an acquire load:
    /// all that the writer published in earlier blocks is visible then.
    fn opened(&self) -> u64;

    /// How many blocks it has; at least 1.
    fn length(&self) -> u64;

    /// The block that has, had or will have this sequence number.
    fn block(&self, sequence: u64) -> Self::Block;

    /// Words that are older than this, BOOTTIME ns, are not retracted any more: the time of the writer's
    /// clock, less the length of a short call and two ticks. See [`block`].
    fn horizon(&self) -> u64;

    /// The place behind the last published event; `None` if the writer laps the ring faster than this can
    /// read.
    fn mark(&self) -> Option<Mark> {
        let mut opened = self.opened();
        for _ in 0..ATTEMPTS {
            let Some(newest) = opened.checked_sub(1) else { return Some(Mark { sequence: 0, position: 0 }) };
            let place = match block::extent(&self.block(newest), newest, self.horizon()) {
                Observed::There(extent) => Some(Mark::behind(newest, &extent)),
                Observed::NotYet => self.behind_last_full(newest),
                Observed::Gone => None,
            };
            if place.is_some() {
                return place;
            }
            opened = self.opened();
        }
        None
    }

    /// The place before the block `newest`, in which nothing is published yet.
    fn behind_last_full(&self, newest: u64) -> Option<Mark> {
        // It may be empty because the writer is about to use it for a later life.
        if self.opened() != newest + 1 {
            return None;
        }
        let Some(last) = newest.checked_sub(1) else { return Some(Mark { sequence: 0, position: 0 }) };
        match block::extent(&self.block(last), last, self.horizon()) {
            Observed::There(extent) => Some(Mark::behind(last, &extent)),
            // A ring of one block overwrites its last words at once: there is no earlier word.
            Observed::NotYet | Observed::Gone => None,
        }
    }

    /// Whether every word from the mark on was still there at the time of the call.
    fn is_valid(&self, mark: &Mark) -> bool {
        let horizon = self.horizon();
        self.first_block(mark, |sequence| block::extent(&self.block(sequence), sequence, horizon)).is_ok()
    }

    /// A mark in front of the oldest words that are worth copying: the writer goes on meanwhile, so an eighth
    /// of the ring, which it takes next, is left out.
    fn oldest(&self) -> Option<Mark> {
        let opened = self.opened();
        let kept = self.length() - (self.length() / 8).max(1);
        let sequence = opened.saturating_sub(kept);
        match block::extent(&self.block(sequence), sequence, self.horizon()) {
            Observed::There(extent) => Some(Mark { sequence, position: extent.base }),
            Observed::NotYet | Observed::Gone => None,
        }
    }

    /// Copies all words from the mark to now into `slice`, whose memory is reused.
    ///
    /// # Errors
    /// [`Overwritten`]; `slice` is empty then.
    fn copy_since(&self, mark: &Mark, slice: &mut Slice) -> Result<(), Overwritten> {
        let copied = self.try_copy(mark, slice);
        if copied.is_err() {
            slice.clear();
        }
        copied
    }

    /// As [`Ring::copy_since`], but on an error `slice` holds a part.
    fn try_copy(&self, mark: &Mark, slice: &mut Slice) -> Result<(), Overwritten> {
        slice.begin(mark.position);
        let horizon = self.horizon();
        // What is published in these blocks by now belongs into the slice.
        let Some(newest) = self.opened().checked_sub(1) else { return Ok(()) };
        let first =
            self.first_block(mark, |sequence| slice.copy_block(&self.block(sequence), sequence, horizon))?;
        let Some(first) = first else { return Ok(()) };
        for sequence in first + 1..=newest {
            match slice.copy_block(&self.block(sequence), sequence, horizon) {
                Observed::There(_) => {}
                Observed::NotYet if sequence == newest && !self.handed_out_again(newest) => {}
                Observed::NotYet | Observed::Gone => return Err(Overwritten),
            }
        }
        Ok(())
    }

    /// Finds the block that holds the mark's first word, reading blocks with `see`; `None` if the mark is
    /// behind all that is published.
    fn first_block(
        &self,
        mark: &Mark,
        mut see: impl FnMut(u64) -> Observed<Extent>,
    ) -> Result<Option<u64>, Overwritten> {
        let Mark { sequence, position } = *mark;
        match see(sequence) {
            Observed::There(_) => return Ok(Some(sequence)),
            Observed::NotYet if !self.handed_out_again(sequence) => return Ok(None),
            Observed::NotYet | Observed::Gone => {}
        }
        // The mark may be at the end of its block: then the next block holds all that follows it.
        match see(sequence + 1) {
            Observed::There(extent) if extent.base <= position => Ok(Some(sequence + 1)),
            _ => Err(Overwritten),
        }
    }

    /// Whether the block of this sequence number, seen empty, was emptied for a later life.
    fn handed_out_again(&self, sequence: u64) -> bool {
        self.opened() > sequence.saturating_add(self.length())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
