//! A place in a thread's words; `ring` describes its use.

use std::fmt;

use crate::memory::block::Extent;

/// A place between two events of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The block that the writer was in.
    pub(super) sequence: u64,
    /// Words written before the place.
    pub(super) position: u64,
}

impl Mark {
    /// The place before the writer's first word.
    pub const FIRST: Self = Self { sequence: 0, position: 0 };

    pub(super) fn behind(sequence: u64, extent: &Extent) -> Self {
        Self { sequence, position: extent.base + extent.head as u64 }
    }

    /// The mark as two words, to be kept in atomics.
    pub fn words(&self) -> [u64; 2] {
        [self.sequence, self.position]
    }

    /// From [`Mark::words`].
    pub fn of_words([sequence, position]: [u64; 2]) -> Self {
        Self { sequence, position }
    }

    /// How many words the thread had written when the mark was placed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }
}

/// Words behind the mark are overwritten, or were while they were being copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overwritten;

impl fmt::Display for Overwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the record has wrapped since the mark: take slices sooner, or give main a larger ring")
    }
}

impl std::error::Error for Overwritten {}
