//! Limits how much merging unpacks and remembers, over all of its inputs together.

use std::cell::Cell;
use std::io::{self, Read};

/// Maximum ratio of unpacked to packed size. Deflate reaches 1,032; traces of a device reach 10 to 20.
const RATIO: u64 = 64;
/// Size that small inputs may always unpack to, bytes.
const FLOOR: u64 = 64 << 20;
/// Maximum number of remembered tracks of all traces together: 20 MiB of memory.
const MAX_TRACKS: usize = 1 << 20;

/// A limit on how much all traces of one merge may unpack to, and on the tracks that are remembered.
#[derive(Debug)]
pub struct Budget {
    /// Bytes that may be unpacked in all.
    pub(super) whole: u64,
    /// Bytes that may still be unpacked; `None` once more were asked for.
    left: Cell<Option<u64>>,
    tracks: Cell<usize>,
}

impl Budget {
    /// The budget for inputs of `length` bytes in total.
    #[must_use]
    pub fn for_inputs(length: u64) -> Self {
        Self::of(length.saturating_mul(RATIO).max(FLOOR))
    }

    /// An unlimited budget, for data that the program itself has compressed.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::of(u64::MAX)
    }

    fn of(whole: u64) -> Self {
        Self { whole, left: Cell::new(Some(whole)), tracks: Cell::new(MAX_TRACKS) }
    }

    /// True if a request exceeded the budget.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get().is_none()
    }

    /// Takes one track from the budget; returns true if there was room.
    pub(super) fn takes_track(&self) -> bool {
        let left = self.tracks.get();
        self.tracks.set(left.saturating_sub(1));
        left > 0
    }

    /// Gives back what [`takes_track`](Self::takes_track) took.
    pub(super) fn gives_back_tracks(&self, count: usize) {
        self.tracks.set(self.tracks.get() + count);
    }
}

/// A reader that takes the unpacked bytes from the budget.
#[derive(Debug)]
pub struct Metered<'b, R> {
    from: R,
    budget: &'b Budget,
}

impl<'b, R: Read> Metered<'b, R> {
    /// Meters what is read from `from`, a decompressor.
    pub fn new(from: R, budget: &'b Budget) -> Self {
        Self { from, budget }
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        let left = self.budget.left.get().and_then(|left| left.checked_sub(n as u64));
        self.budget.left.set(left);
        left.map(|_| n).ok_or_else(|| io::Error::other("more is unpacked than the budget allows"))
    }
}
