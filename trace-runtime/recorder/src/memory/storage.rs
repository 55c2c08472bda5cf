//! Where each block of a region is: in memory from the first event on, and in the recording's file once there
//! is one.
//!
//! Both have the same layout: block `n` of one corresponds to block `n` of the other. Once the file is known,
//! blocks are opened there. The worker copies what is in memory by then, and a writer in the middle of a block
//! migrates it ([`BlockStorage::migrate`]). No thread waits for another.
//!
//! # Who may write to block `n` of the file
//! One thread at a time, and `places[n]` says which:
//! ```text
//!     MEMORY ---- worker copies ----> COPYING ---- done, the writer has left the block ------> FILE
//!        ^                             |    `----- done, the writer still uses it -----> MEMORY
//!        |                             `-- the writer opens n meanwhile: in memory --> REOPENED
//!        `------------------------------- the worker is done ----------------------------'
//!     MEMORY ---- the writer opens n -----------------------------------------------> FILE
//!     MEMORY ---- the writer migrates -> MIGRATING ---------------------------------> FILE
//! ```
//! FILE is terminal. A reader of a running recorder finds a block's latest life in the file if its place is
//! FILE, and in memory otherwise. The contents are stored before the place becomes FILE.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use trace_format::layout::{BLOCK_LEN, BLOCK_WORDS, ClockMode, EMPTYING, RegionKind, block as at};

use crate::memory::block::{self, BlockMemory, RawBlock};
use crate::memory::mapping::{self, Mapping};
use crate::time::fold;

const MEMORY: u8 = 0;
const COPYING: u8 = 1;
const REOPENED: u8 = 2;
const MIGRATING: u8 = 3;
const FILE: u8 = 4;

/// What is left to do after a pass over the blocks in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Remaining {
    /// Nothing.
    Nothing,
    /// All words are in the file, and blocks are in use whose writers have been asked to migrate. They do so at
    /// their next event, and write at most one word before.
    InUse,
    /// A block was opened in memory meanwhile.
    Reopened,
}

/// The outcome of a migration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Migrated {
    /// The block is in the file from now on, at this address.
    To(NonNull<u8>),
    /// It was in the file already.
    InFile,
    /// The worker is copying it; try again at the next event.
    NotYet,
}

/// The blocks of a region, in memory and in the file.
#[derive(Debug)]
pub(crate) struct BlockStorage {
    memory: NonNull<u8>,
    /// The file's first block; null until there is a file.
    file: AtomicPtr<u8>,
    places: Box<[AtomicU8]>,
}

// SAFETY: a block is written to by one thread at a time, as drawn above, and the mappings outlive everything.
unsafe impl Send for BlockStorage {}
// SAFETY: as above.
unsafe impl Sync for BlockStorage {}

impl BlockStorage {
    /// The blocks of that region, in memory.
    pub(crate) fn new(memory: &Mapping, kind: RegionKind) -> Self {
        let (first, count) = blocks(memory, kind);
        let places = (0..count).map(|_| AtomicU8::new(MEMORY)).collect();
        Self { memory: first, file: AtomicPtr::new(std::ptr::null_mut()), places }
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    /// From here on blocks are opened in `file`, which has the memory's layout.
    pub(crate) fn set_file(&self, file: &Mapping, kind: RegionKind) {
        let (first, count) = blocks(file, kind);
        assert_eq!(count, self.count(), "a file of the same sizes");
        self.file.store(first.as_ptr(), Ordering::SeqCst);
    }

    /// The block `number` in its latest life.
    pub(crate) fn at(&self, number: usize) -> NonNull<u8> {
        match (self.places[number].load(Ordering::Acquire), self.in_file(number)) {
            (FILE, Some(block)) => block,
            _ => self.in_memory(number),
        }
    }

    /// Where block `number` would be opened.
    fn next(&self, number: usize) -> NonNull<u8> {
        self.in_file(number).unwrap_or_else(|| self.in_memory(number))
    }

    fn in_memory(&self, number: usize) -> NonNull<u8> {
        offset(self.memory, number, self.count())
    }

    fn in_file(&self, number: usize) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.file.load(Ordering::Acquire))?;
        Some(offset(first, number, self.count()))
    }

    /// Where block `number` starts its next life. Only the thread that was given the block may ask.
    pub(crate) fn begin(&self, number: usize) -> NonNull<u8> {
        let Some(file) = self.in_file(number) else { return self.in_memory(number) };
        let place = &self.places[number];
        loop {
            // A life that is in memory alone ends here, and need not be copied.
            match place.compare_exchange(MEMORY, FILE, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) | Err(FILE) => return file,
                Err(REOPENED) => return self.in_memory(number),
                Err(_) => {}
            }
            let copied =
                place.compare_exchange(COPYING, REOPENED, Ordering::AcqRel, Ordering::Acquire).is_err();
            if !copied {
                return self.in_memory(number);
            }
        }
    }

    /// Migrates the block at `start`, which the calling thread writes to, to the file.
    pub(crate) fn migrate(&self, start: NonNull<u8>) -> Migrated {
        let (Some(number), Some(file)) = (self.number_in_memory(start), self.file_at(start)) else {
            return Migrated::InFile;
        };
        let place = &self.places[number];
        if place.compare_exchange(MEMORY, MIGRATING, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Migrated::NotYet;
        }
        block::transfer(&raw(start), &raw(file), fold::ALL_FINAL);
        place.store(FILE, Ordering::Release);
        Migrated::To(file)
    }

    /// Whether the block at `start` is in memory although there is a file.
    pub(crate) fn is_left_in_memory(&self, start: NonNull<u8>) -> bool {
        self.file_at(start).is_some()
    }

    /// The number of the block at `start`, if that is in memory.
    fn number_in_memory(&self, start: NonNull<u8>) -> Option<usize> {
        let number = start.as_ptr().addr().checked_sub(self.memory.as_ptr().addr())? / BLOCK_LEN;
        (number < self.count()).then_some(number)
    }

    /// Where the block at `start`, in memory, is in the file.
    fn file_at(&self, start: NonNull<u8>) -> Option<NonNull<u8>> {
        self.in_file(self.number_in_memory(start)?)
    }

    /// Copies the contents of block `number` to the file. `left` says that its writer has left it; other
    /// writers have been asked to migrate. Only the worker may call it.
    pub(crate) fn copy_to_file(&self, number: usize, left: bool) -> Remaining {
        let (Some(file), place) = (self.in_file(number), &self.places[number]) else {
            return Remaining::Reopened;
        };
        if place.compare_exchange(MEMORY, COPYING, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Remaining::Nothing;
        }
        // What its writer has left is below the floor.
        let brought = block::transfer(&raw(self.in_memory(number)), &raw(file), fold::horizon());
        let to = if left && brought { FILE } else { MEMORY };
        if place.compare_exchange(COPYING, to, Ordering::AcqRel, Ordering::Acquire).is_err() {
            place.store(MEMORY, Ordering::Release);
            return Remaining::Reopened;
        }
        // A block that was never written to has no contents.
        if left { Remaining::Nothing } else { Remaining::InUse }
    }

    /// How many words block `number` has: those that are published, and those with the ones that Java wrote
    /// behind the head.
    pub(crate) fn words(&self, number: usize) -> (usize, usize) {
        let block = raw(self.at(number));
        let head = block.load_u32(at::HEAD) as usize;
        let coarse = block.load_u32(at::CLOCK_MODE) == ClockMode::Coarse as u32;
        match head {
            0..BLOCK_WORDS if coarse => (head, block::end(&block, head)),
            0..=BLOCK_WORDS => (head, head),
            _ => (0, 0),
        }
    }

    /// Ends the life of block `number`, wherever it is. No other thread may open or copy it meanwhile.
    pub(crate) fn empty(&self, number: usize) {
        for block in std::iter::once(self.in_memory(number)).chain(self.in_file(number)) {
            raw(block).store_u32(at::HEAD, EMPTYING);
        }
    }

    /// Makes the pages of block `number`, now and after a migration, writable without changing a byte.
    pub(crate) fn touch(&self, number: usize) {
        touch(self.at(number));
        if self.next(number) != self.at(number) {
            touch(self.next(number));
        }
    }

    /// As [`BlockStorage::touch`], for a block that is not open.
    pub(crate) fn touch_next(&self, number: usize) {
        touch(self.next(number));
    }
}

fn blocks(mapping: &Mapping, kind: RegionKind) -> (NonNull<u8>, usize) {
    let region = mapping.region(kind);
    let length = region.length as usize;
    (mapping.at(region.offset as usize, length), length / BLOCK_LEN)
}

fn offset(first: NonNull<u8>, number: usize, count: usize) -> NonNull<u8> {
    assert!(number < count, "{number} of {count}");
    // SAFETY: `blocks` has found that many blocks behind `first`.
    unsafe { first.add(number * BLOCK_LEN) }
}

fn raw(start: NonNull<u8>) -> RawBlock {
    // SAFETY: a block of one of the mappings, which are never unmapped; its words are accessed only through
    // atomics.
    unsafe { RawBlock::new(start) }
}

/// Touches a reserved word of the block's first half, and a word of its second half, which is on the next page
/// where pages are small.
fn touch(block: NonNull<u8>) {
    for offset in [at::RESERVED, BLOCK_LEN / 2] {
        // SAFETY: inside of a block of the mapping, aligned to 8 (blocks are to 4096), and reached through atomics.
        mapping::touch(unsafe { AtomicU64::from_ptr(block.add(offset).cast().as_ptr()) });
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
