//! Bounds what a file can make the reader do.

use std::cell::Cell;

use crate::Malformed;

/// What may still be read.
///
/// Items that are read once for each offset do not overlap in a valid file, so that their sizes add up to that of the file at most.
/// Items that are decoded for each use (type lists, static values) are counted by the memory that they take.
#[derive(Debug)]
pub(super) struct Budget {
    distinct: Cell<usize>,
    repeated: Cell<usize>,
}

/// Bytes of decoded items for each byte of the file. An encoded value takes 24 bytes and can be one byte in the file.
const MEMORY_PER_BYTE: usize = 64;

impl Budget {
    /// The budget of a file of `length` bytes, with `shares` dex files that may use the same data.
    pub(super) fn new(length: usize, shares: usize) -> Self {
        let distinct = length.saturating_mul(shares);
        Self { distinct: Cell::new(distinct), repeated: Cell::new(length.saturating_mul(MEMORY_PER_BYTE)) }
    }

    /// Counts the bytes from `start` to `end`, which belong to no other item.
    pub(super) fn item(&self, start: usize, end: usize) -> Result<(), Malformed> {
        let left = self.distinct.get().checked_sub(end.saturating_sub(start));
        self.distinct.set(left.ok_or(Malformed { at: start, what: "items overlap" })?);
        Ok(())
    }

    /// Counts `count` values of type `T` that are read at `at`.
    pub(super) fn memory<T>(&self, at: usize, count: usize) -> Result<(), Malformed> {
        let bytes = count.saturating_mul(size_of::<T>());
        let left = self.repeated.get().checked_sub(bytes);
        self.repeated.set(left.ok_or(Malformed { at, what: "items are shared too often" })?);
        Ok(())
    }
}
