//! A thread's open calls at the start of each of its blocks, so that a reader of what is left of the ring
//! knows the callers.
//!
//! The hot path maintains nothing. When a block is full, its words are scanned once, a thousand of them in a
//! microsecond or two, and the calls that they leave open are recorded at the start of the next block.

use trace_format::event::{self, LostEnd, OpenCalls, types};
use trace_format::layout::BLOCK_WORDS;
use trace_format::{Event, ids, word};

use crate::memory::block::BlockMemory;

/// Calls whose ids are known; of the inner ones only the number is.
const MAX_KNOWN_CALLS: usize = 128;

/// Words that the calls may take in each block: a hundredth.
const WORDS_PER_BLOCK: usize = BLOCK_WORDS / 100;

/// Calls that are recorded where the share does not allow all of them: 6 words, so that the rest is saved.
const OUTERMOST_CALLS: usize = 12;

/// The most words that are saved for a deep stack.
const MAX_SAVED_WORDS: usize = 8 * WORDS_PER_BLOCK;

/// The calls that are open behind the last full block.
#[derive(Debug)]
pub(crate) struct OpenCallStack {
    ids: [u32; MAX_KNOWN_CALLS],
    depth: usize,
    /// Words that may be spent.
    saved: usize,
}

impl OpenCallStack {
    pub(crate) const fn new() -> Self {
        Self { ids: [0; MAX_KNOWN_CALLS], depth: 0, saved: 0 }
    }

    /// Forgets all calls: words were lost.
    pub(crate) fn forget(&mut self) {
        self.depth = 0;
    }

    /// Scans the words of a block from `from` to `head`, which follow those that were scanned last.
    pub(crate) fn pass(&mut self, block: &impl BlockMemory, from: usize, head: usize) {
        let mut at = from;
        while at < head {
            let word = block.load_word(at);
            let id = word::id(word);
            if !ids::is_method(id) {
                let payload = event::payload_len(id);
                if id == event::typed_id(types::LOST_END, 1) && at + payload < head {
                    self.lose(LostEnd::of(block.load_word(at + 1) as u32));
                }
                at += 1 + payload;
                continue;
            }
            at += 1;
            if !word::is_begin(word) {
                self.leave(id);
                continue;
            }
            // Half of all calls, or more, call nothing: their exit is the next word.
            if at < head {
                let next = block.load_word(at);
                if word::id(next) == id && !word::is_begin(next) {
                    at += 1;
                    continue;
                }
            }
            if let Some(place) = self.ids.get_mut(self.depth) {
                *place = id;
            }
            self.depth += 1;
        }
    }

    /// An exit ends its call and all calls that are open inside of it. One without its enter ends nothing.
    fn leave(&mut self, id: u32) {
        let innermost = self.depth.wrapping_sub(1);
        if self.depth > MAX_KNOWN_CALLS || self.ids.get(innermost) == Some(&id) {
            // Which of the counted calls it ends is unknown, but they end from the inside.
            self.depth = innermost;
        } else if let Some(depth) = self.ids[..self.depth].iter().rposition(|open| *open == id) {
            self.depth = depth;
        }
    }

    /// An end was lost: of the calls that may have ended, none is listed.
    fn lose(&mut self, end: LostEnd) {
        let known = self.depth.min(MAX_KNOWN_CALLS);
        match end {
            LostEnd::Wait => {}
            LostEnd::Any => self.depth = 0,
            LostEnd::Exit(id) => {
                self.depth = self.ids[..known].iter().position(|open| *open == id).unwrap_or(known);
            }
        }
    }

    /// The events for the start of a block: all open calls, or the outermost ones where all would take more
    /// than the share of words.
    pub(crate) fn events(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.saved = (self.saved + WORDS_PER_BLOCK).min(MAX_SAVED_WORDS);
        let known = self.depth.min(MAX_KNOWN_CALLS);
        let count = if words(known) <= self.saved { known } else { OUTERMOST_CALLS };
        self.saved = self.saved.saturating_sub(words(count));
        let depth = self.depth as u32;
        self.ids[..count].chunks(OpenCalls::MAX_IDS).enumerate().map(move |(n, ids)| {
            Event::OpenCalls(OpenCalls::new(depth, (n * OpenCalls::MAX_IDS) as u32, ids))
        })
    }
}

/// How many words so many calls take.
fn words(calls: usize) -> usize {
    calls.div_ceil(OpenCalls::MAX_IDS) * 2 + calls.div_ceil(3)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr::NonNull;

    use trace_format::layout::BLOCK_LEN;

    use super::*;
    use crate::memory::block::RawBlock;

    fn pass(open: &mut OpenCallStack, events: &[(bool, u32)]) {
        let mut memory = Box::new([0_u64; BLOCK_LEN / 8]);
        // SAFETY: a block's length, aligned, and used through this alone while it lives.
        let block = unsafe { RawBlock::new(NonNull::from(memory.as_mut_slice()).cast()) };
        for (index, (begin, id)) in events.iter().enumerate() {
            block.store_word(index, word::pack(*begin, *id, 0));
        }
        open.pass(&block, 0, events.len());
    }

    fn recorded(open: &mut OpenCallStack) -> Vec<(u32, u32, Vec<u32>)> {
        let calls = |event| match event {
            Event::OpenCalls(calls) => (calls.depth, calls.first, calls.ids().collect()),
            other => panic!("{other:?}"),
        };
        open.events().map(calls).collect()
    }

    #[test]
    fn open_calls_are_recorded_in_the_next_block() {
        let mut open = OpenCallStack::new();
        assert_eq!(recorded(&mut open), []);
        pass(&mut open, &[(true, 1), (true, 2), (true, 3), (false, 3), (true, 4)]);
        assert_eq!(recorded(&mut open), [(3, 0, vec![1, 2, 4])]);
        // 4 and 2 end with their caller, 9 was never begun.
        pass(&mut open, &[(false, 9), (false, 1), (true, 5)]);
        assert_eq!(recorded(&mut open), [(1, 0, vec![5])]);
        open.forget();
        assert_eq!(recorded(&mut open), []);
    }

    proptest::proptest! {
        #[test]
        fn a_block_leaves_open_what_its_words_say_one_after_the_other(
            events in proptest::collection::vec((proptest::bool::weighted(0.6), 1_u32..6), 0..900),
        ) {
            let mut expected: Vec<u32> = Vec::new();
            for (begin, id) in &events {
                if *begin {
                    expected.push(*id);
                } else if expected.len() > MAX_KNOWN_CALLS {
                    expected.pop();
                } else if let Some(depth) = expected.iter().rposition(|open| open == id) {
                    expected.truncate(depth);
                }
            }
            let mut open = OpenCallStack::new();
            pass(&mut open, &events);
            proptest::prop_assert_eq!(open.depth, expected.len());
            let known = expected.len().min(MAX_KNOWN_CALLS);
            proptest::prop_assert_eq!(&open.ids[..known], &expected[..known]);
        }
    }

    #[test]
    fn a_deep_stack_is_recorded_in_full_as_often_as_its_share_of_words_allows() {
        let mut open = OpenCallStack::new();
        let deep: Vec<_> = (1..=300).map(|id| (true, id)).collect();
        pass(&mut open, &deep);
        let mut spent = 0;
        let mut full = 0;
        for _ in 0..100 {
            let recorded = recorded(&mut open);
            let named: Vec<u32> = recorded.iter().flat_map(|(_, _, ids)| ids.clone()).collect();
            assert!(recorded.iter().all(|(depth, ..)| *depth == 300));
            assert!(
                named.iter().copied().eq(1..=named.len() as u32) && named.len() >= OUTERMOST_CALLS,
                "{}",
                named.len()
            );
            spent += words(named.len());
            full += usize::from(named.len() == MAX_KNOWN_CALLS);
        }
        assert!(spent <= 100 * WORDS_PER_BLOCK && full >= 5, "{spent} words, {full} in full");
        let all: Vec<_> = (1..=300).rev().map(|id| (false, id)).collect();
        pass(&mut open, &all);
        assert_eq!(recorded(&mut open), []);
    }
}
