//! The sources of writers' blocks: a ring with one writer, and the pool that all other threads share.

use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use crate::memory::stale::Stale;
use crate::memory::storage::Migrated;
use crate::memory::writer::BlockSource;
use crate::recorder::Recorder;
use crate::recorder::blocks::RingBlocks;
use crate::time::clock;

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

    fn keep(&mut self) -> Option<u32> {
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
