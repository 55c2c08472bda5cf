//! The message that main is in: a sequence lock that main writes and any thread reads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::memory::mark::Mark;

/// An open message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) since_ns: u64,
    pub(crate) mark: Option<Mark>,
}

/// [`Open`] in four words: a sequence lock with main as its writer.
pub(crate) struct OpenWords {
    sequence: AtomicU32,
    since_ns: AtomicU64,
    mark: [AtomicU64; 2],
}

/// No mark: no ring has written that many words.
const NO_MARK: u64 = u64::MAX;

impl OpenWords {
    pub(crate) const fn new() -> Self {
        OpenWords {
            sequence: AtomicU32::new(0),
            since_ns: AtomicU64::new(0),
            mark: [const { AtomicU64::new(NO_MARK) }; 2],
        }
    }

    #[inline]
    pub(crate) fn store(&self, since_ns: u64, mark: Option<Mark>) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees one of the words below also sees the odd sequence number.
        fence(Ordering::Release);
        self.since_ns.store(since_ns, Ordering::Relaxed);
        for (slot, word) in self.mark.iter().zip(mark.map_or([NO_MARK; 2], |mark| mark.words())) {
            slot.store(word, Ordering::Relaxed);
        }
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    pub(crate) fn load(&self) -> Option<Open> {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            let since_ns = self.since_ns.load(Ordering::Relaxed);
            let words = [0, 1].map(|at| self.mark[at].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && before == self.sequence.load(Ordering::Relaxed) {
                let mark = (words[1] != NO_MARK).then(|| Mark::of_words(words));
                return (since_ns != 0).then_some(Open { since_ns, mark });
            }
            // Main is between two stores, or was preempted there.
            std::thread::yield_now();
        }
    }
}
