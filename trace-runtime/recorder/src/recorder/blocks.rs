//! The blocks of the rings, as sources for writers.

use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use trace_format::layout::RegionKind;

use crate::memory::block::RawBlock;
use crate::memory::mapping::Mapping;
use crate::memory::pool::Kept;
use crate::memory::ring::Ring;
use crate::memory::stale::Stale;
use crate::memory::storage::{BlockStorage, Migrated, Remaining};
use crate::memory::writer::BlockSource;
use crate::recorder::Recorder;
use crate::time::{clock, fold};

/// The blocks of a ring with one writer, in turn.
#[derive(Debug)]
pub(crate) struct RingBlocks {
    pub(crate) storage: BlockStorage,
    /// How many blocks the writer was ever given. Stored by the writer alone; threads that place marks load
    /// it.
    opened: crate::sync::AtomicU64,
}

impl RingBlocks {
    pub(crate) fn new(memory: &Mapping, kind: RegionKind) -> Self {
        Self { storage: BlockStorage::new(memory, kind), opened: crate::sync::AtomicU64::new(0) }
    }

    /// The number of the block with this sequence number.
    fn number(&self, sequence: u64) -> Option<usize> {
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

impl BlockSource for &RingBlocks {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        let opened = self.opened.load(Ordering::Relaxed);
        let number = self.number(opened)?;
        // Before the block's life starts, and after all that was published in earlier ones: `Ring` requires
        // it.
        self.opened.store(opened + 1, Ordering::Release);
        fence(Ordering::SeqCst);
        Some(self.storage.begin(number))
    }

    fn migrate(&mut self, block: NonNull<u8>) -> Migrated {
        self.storage.migrate(block)
    }

    fn is_left_in_memory(&self, block: NonNull<u8>) -> bool {
        self.storage.is_left_in_memory(block)
    }

    fn count_losses(&mut self, clamped: u32, dropped: u32) {
        if let Some(recorder) = Recorder::active() {
            recorder.count_losses(clamped, dropped);
        }
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

/// Blocks out of the shared pool, for the thread at `place`.
#[derive(Debug)]
pub(crate) struct PoolBlocks {
    pub(crate) recorder: &'static Recorder,
    pub(crate) place: u32,
    /// Words that former owners may still store into the block that was taken last.
    pub(crate) stale: Stale,
}

impl BlockSource for PoolBlocks {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        let storage = &self.recorder.pool_blocks;
        let words = |number| storage.words(number as usize);
        let (block, stale) = self.recorder.pool.take(self.place, clock::boottime(), words, |handed| {
            if handed.recycled {
                storage.empty(handed.number as usize);
            }
            (storage.begin(handed.number as usize), handed.stale)
        })?;
        self.stale = stale;
        Some(block)
    }

    fn stale(&self) -> &Stale {
        &self.stale
    }

    fn keep(&mut self) -> Kept {
        self.recorder.pool.keep(self.place)
    }

    fn count_losses(&mut self, clamped: u32, dropped: u32) {
        self.recorder.count_losses(clamped, dropped);
    }

    fn migrate(&mut self, block: NonNull<u8>) -> Migrated {
        self.recorder.pool.locked(|| self.recorder.pool_blocks.migrate(block))
    }

    fn is_left_in_memory(&self, block: NonNull<u8>) -> bool {
        self.recorder.pool_blocks.is_left_in_memory(block)
    }
}
