//! A copied stretch of a ring, from a mark on.

use trace_format::{Cursor, Event};

use crate::memory::block::{self, BlockMemory, Extent, Observed};
use crate::memory::mark::Mark;

/// A copy of a ring's words, with what their times follow from. Blocks are kept from their first word,
/// because a word's time follows from its block's opening time and the words before it; what is before the
/// mark is not shown.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    words: Vec<u64>,
    blocks: Vec<Part>,
    /// Words that the thread wrote before the mark.
    position: u64,
}

/// One block of a slice.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The block's sequence number.
    sequence: u64,
    t0: u64,
    base: u64,
    /// Where its words start in the slice's.
    start: usize,
    head: usize,
}

impl Slice {
    /// An empty slice with room for `words` words, so that copying that many allocates nothing for them.
    #[must_use]
    pub fn with_capacity(words: usize) -> Self {
        Self { words: Vec::with_capacity(words), ..Self::default() }
    }

    /// The events from the mark on, with their times (CLOCK_BOOTTIME ns), in the order of writing.
    pub fn events(&self) -> impl Iterator<Item = (u64, Event)> {
        self.blocks.iter().flat_map(|part| {
            let words = &self.words[part.start..part.start + part.head];
            let skip = usize::try_from(self.position.saturating_sub(part.base)).unwrap_or(usize::MAX);
            let mut cursor = Cursor::new(part.t0, part.head);
            std::iter::from_fn(move || {
                loop {
                    let index = cursor.index();
                    // No writer leaves half an event below the head.
                    let event = cursor.step(|i| words[i])?.ok()?;
                    if index >= skip {
                        return Some(event);
                    }
                }
            })
        })
    }

    /// How many words there are from the mark on.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.base + last.head as u64 - self.position)
    }

    /// The place behind the last word; `None` for an empty slice. With `without_last` the place in front of
    /// that word, which must be no payload.
    pub fn end(&self, without_last: bool) -> Option<Mark> {
        let last = self.blocks.last()?;
        let words = last.base + last.head as u64 - u64::from(without_last);
        Some(Mark::of_words([last.sequence, words]))
    }

    /// Whether nothing was written since the mark.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words() == 0
    }

    /// Empties the slice, and keeps its memory.
    pub fn clear(&mut self) {
        self.begin(0);
    }

    pub(crate) fn begin(&mut self, position: u64) {
        self.words.clear();
        self.blocks.clear();
        self.position = position;
    }

    /// Appends the final words of the block's life `sequence`; see [`block::copy`].
    pub(crate) fn copy_block(
        &mut self,
        block: &impl BlockMemory,
        sequence: u64,
        horizon: u64,
    ) -> Observed<Extent> {
        let start = self.words.len();
        let seen = block::copy(block, sequence, horizon, &mut self.words);
        if let Observed::There(Extent { head, base, t0 }) = seen {
            self.blocks.push(Part { sequence, t0, base, start, head });
        }
        seen
    }
}
