//! Words of a block that a former owner may still store, long after the block was taken from it.
//!
//! A thread's Java writer checks its gate and then stores a word, with a 0 behind it. A thread that was
//! preempted between the check and the stores makes them when it goes on, in a block that may belong to another
//! thread by then. It cannot be waited for, and to detect it would cost each event more than the event. But the
//! *place* of these stores is known: directly behind the last word that it wrote, or, if it retracts a short
//! call, in the place of that word. So these three words are left out of the next life, as payload of an event
//! that readers skip, until the former owner was seen elsewhere. The next life starts behind them.

use trace_format::event::{self, MAX_PAYLOAD, types};
use trace_format::layout::BLOCK_WORDS;
use trace_format::word;

use crate::memory::block::{self, BlockMemory};

/// Former owners of a block that are waited for. An idle thread has written few words, so this bounds only the
/// search.
const MAX_FORMER_OWNERS: usize = 32;

/// A life of fewer words is not worth its header.
const MIN_WORDS_LEFT: usize = 128;

/// Words that one former owner may still store to: its last word, and two behind it.
const STALE_WORDS: usize = 3;

/// The first of each former owner's words, sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    at: [u16; MAX_FORMER_OWNERS],
    count: usize,
}

impl Stale {
    /// No former owner.
    pub(crate) const NONE: Self = Self { at: [0; MAX_FORMER_OWNERS], count: 0 };

    fn indices(&self) -> &[u16] {
        &self.at[..self.count]
    }

    /// Adds a former owner that had written `words` words, of which the first `published` are native and final.
    /// `None` if too little of the block would be left.
    pub(crate) fn and(mut self, published: usize, words: usize) -> Option<Self> {
        // Java continues only behind a native word, and retracts only its own.
        if published == 0
            || words + STALE_WORDS + MIN_WORDS_LEFT > BLOCK_WORDS
            || self.count == MAX_FORMER_OWNERS
        {
            return None;
        }
        let first = words - usize::from(words > published);
        let place = self.indices().partition_point(|at| usize::from(*at) < first);
        self.at.copy_within(place..self.count, place + 1);
        self.at[place] = first as u16;
        self.count += 1;
        Some(self)
    }

    /// Where the next life starts.
    pub(crate) fn end(&self) -> usize {
        self.indices().last().map_or(0, |last| usize::from(*last) + STALE_WORDS)
    }

    fn has(&self, index: usize) -> bool {
        self.indices().iter().any(|at| (usize::from(*at)..usize::from(*at) + STALE_WORDS).contains(&index))
    }
}

/// Turns the words up to [`Stale::end`] of a block that was just opened into padding. Only the block's new
/// writer may call it.
pub(crate) fn pad(block: &impl BlockMemory, stale: &Stale) {
    let (mut at, end) = (0, stale.end());
    while at < end {
        let mut next = end.min(at + 1 + MAX_PAYLOAD);
        // No former owner's: a life starts with a native word, so such words come in threes.
        while next < end && next > at + 1 && stale.has(next) {
            next -= 1;
        }
        block.store_word(at, word::pack(false, event::typed_id(types::PADDING, next - at - 1), 0));
        at = next;
    }
    if end > 0 {
        // In coarse mode words of an earlier life would be taken for this one's.
        block.store_word(end, 0);
        block::publish_until(block, end);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::block::RawBlock;
    use std::ptr::NonNull;
    use trace_format::Cursor;
    use trace_format::event::Event;
    use trace_format::layout::{BLOCK_LEN, block as at};

    #[test]
    fn readers_find_only_the_new_life_after_any_store_of_former_owners() {
        for owners in [&[2][..], &[5], &[40], &[2, 6, 10], &[15, 19, 31, 35], &[2, 300, 304, 800]] {
            let mut memory = Box::new([u64::MAX; BLOCK_LEN / 8]);
            // SAFETY: a block's length, aligned, and used through this alone while it lives.
            let block = unsafe { RawBlock::new(NonNull::from(memory.as_mut_slice()).cast()) };
            block.store_u32(at::HEAD, 0);
            // In any order.
            let stale = owners
                .iter()
                .rev()
                .try_fold(Stale::NONE, |stale, words| stale.and(words - 1, *words))
                .unwrap();
            pad(&block, &stale);
            let begin = block.load_u32(at::HEAD) as usize;
            assert_eq!(begin, owners.last().unwrap() + 2);
            block::publish(&block, begin, word::pack(true, 7, 9), &[]);
            for (number, index) in owners.iter().enumerate() {
                if number % 2 == 0 {
                    block.store_word(index + 1, 0);
                    block.store_word(*index, word::pack(true, 666, 1));
                } else {
                    block.store_word(index - 1, 0);
                }
            }
            let mut cursor = Cursor::new(100, begin + 1);
            let all: Vec<_> = std::iter::from_fn(|| cursor.step(|index| block.load_word(index))).collect();
            assert_eq!(all, [Ok((109, Event::Enter(7)))], "{owners:?}");
        }
    }

    #[test]
    fn a_block_that_has_too_little_left_is_not_given_away() {
        assert!(Stale::NONE.and(0, 0).is_none() && Stale::NONE.and(1, BLOCK_WORDS - 100).is_none());
        let mut stale = Stale::NONE;
        for owner in 0..MAX_FORMER_OWNERS {
            stale = stale.and(1 + 4 * owner, 1 + 4 * owner).unwrap();
        }
        assert!(stale.and(500, 500).is_none());
        assert_eq!(Stale::NONE.end(), 0);
    }
}
