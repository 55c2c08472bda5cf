//! The blocks of a ring with one writer.

use std::sync::atomic::{Ordering, fence};

use trace_format::layout::RegionKind;

use crate::memory::block::RawBlock;
use crate::memory::mapping::Mapping;
use crate::memory::ring::Ring;
use crate::memory::storage::{BlockStorage, Remaining};
use crate::time::fold;

/// The blocks of a ring with one writer, in turn.
#[derive(Debug)]
pub(crate) struct RingBlocks {
    pub(crate) storage: BlockStorage,
    /// How many blocks the writer was ever given. Stored by the writer alone; threads that place marks load
    /// it.
    pub(super) opened: crate::sync::AtomicU64,
}

impl RingBlocks {
    pub(crate) fn new(memory: &Mapping, kind: RegionKind) -> Self {
        Self { storage: BlockStorage::new(memory, kind), opened: crate::sync::AtomicU64::new(0) }
    }

    /// The number of the block with this sequence number.
    pub(super) fn number(&self, sequence: u64) -> Option<usize> {
        Some(sequence.checked_rem(self.storage.count() as u64)? as usize)
    }

    /// How many blocks the writer was ever given.
    pub(crate) fn opened_so_far(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Touches the newest block and the `ahead` ones after it.
    pub(crate) fn touch(&self, ahead: usize) {
        let opened = self.opened.load(Ordering::Relaxed);
        if let Some(newest) = opened.checked_sub(1).and_then(|newest| self.number(newest)) {
            self.storage.touch(newest);
        }
        let ahead = ahead.min(self.storage.count() - 1) as u64;
        (opened..opened + ahead)
            .filter_map(|sequence| self.number(sequence))
            .for_each(|number| self.storage.touch_next(number));
    }

    /// Copies what is in memory to the file, as far as that is possible now. Only the worker may call it,
    /// once the storage has a file.
    pub(crate) fn copy_to_file(&self) -> Remaining {
        // Pairs with the fence in `next_block`: either the writer sees that there is a file, or this sees the
        // block.
        fence(Ordering::SeqCst);
        let opened = self.opened.load(Ordering::Acquire);
        let oldest = opened.saturating_sub(self.storage.count() as u64);
        let bring = |sequence| Some(self.storage.copy_to_file(self.number(sequence)?, sequence + 1 < opened));
        (oldest..opened).filter_map(bring).max().unwrap_or(Remaining::Nothing)
    }
}

impl Ring for RingBlocks {
    type Block = RawBlock;

    fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    fn length(&self) -> u64 {
        self.storage.count() as u64
    }

    fn horizon(&self) -> u64 {
        fold::horizon()
    }

    fn block(&self, sequence: u64) -> RawBlock {
        let start = self.storage.at(self.number(sequence).expect("a ring that was opened has a block"));
        // SAFETY: a block of the mapping, which is never unmapped; its words are accessed only through
        // atomics.
        unsafe { RawBlock::new(start) }
    }
}
