//! One thread's writer: the hot path.
//!
//! The order of stores is the protocol drawn in [`trace_format::layout`]: words, fence, head. Nothing here
//! allocates, locks or enters the kernel, but for a new block every thousand words.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use trace_format::Event;
use trace_format::event::Encoded;
use trace_format::layout::{BLOCK_WORDS, ClockMode, block};
use trace_format::word;

use crate::clock;

/// Who hands out blocks, and which one is next.
pub(crate) trait BlockSource {
    /// A block for the writer's next words; its head is 0. `None` if there is none to be had.
    fn next_block(&mut self) -> Option<NonNull<u8>>;
}

/// Writes one thread's words.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The open block; dangling, with `head` at [`BLOCK_WORDS`], before the first.
    block: NonNull<u8>,
    head: usize,
    t0: u64,
    /// Time of the last event.
    last: u64,
    sequence: u64,
    /// Words in the blocks before this one.
    base: u64,
    uid: u32,
    tid: u32,
    /// Times that would have run back.
    clamped: u32,
    /// Events that found no block.
    dropped: u32,
}

// SAFETY: the open block belongs to this value alone, and its memory is never unmapped.
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) const fn new(uid: u32, tid: u32) -> Self {
        Self {
            block: NonNull::dangling(),
            head: BLOCK_WORDS,
            t0: 0,
            last: 0,
            sequence: 0,
            base: 0,
            uid,
            tid,
            clamped: 0,
            dropped: 0,
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// Writes an event with the time of now, and gives that time.
    #[inline]
    pub(crate) fn put(&mut self, blocks: &mut impl BlockSource, event: &Encoded) -> u64 {
        let mut now = clock::boottime();
        if now < self.last {
            self.clamped += 1;
            now = self.last;
        }
        let needed = 1 + event.payload().len();
        if now - self.last > word::MAX_GAP || self.head + needed > BLOCK_WORDS {
            self.make_room(blocks, now, needed);
        }
        if self.head + needed <= BLOCK_WORDS {
            self.store(event, now);
        } else {
            self.dropped += 1;
        }
        self.last = now;
        now
    }

    /// Stores an event that fits, and publishes it.
    #[inline]
    fn store(&mut self, event: &Encoded, now: u64) {
        self.store_word(self.head, event.word(now.wrapping_sub(self.t0)));
        for (i, &payload) in event.payload().iter().enumerate() {
            self.store_word(self.head + 1 + i, payload);
        }
        self.head += 1 + event.payload().len();
        // The words before the head: what a reader finds below it is whole.
        fence(Ordering::Release);
        self.header_u32(block::HEAD).store(self.head as u32, Ordering::Relaxed);
    }

    /// A TIME event before a gap that the time field cannot express, a new block where this one is full.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, blocks: &mut impl BlockSource, now: u64, needed: usize) {
        if self.head + 2 + needed > BLOCK_WORDS {
            // A new block carries the full time: no gap to speak of.
            self.open_block(blocks, now);
        } else {
            self.store(&Event::Time(now).encode(), now);
        }
    }

    fn open_block(&mut self, blocks: &mut impl BlockSource, now: u64) {
        let Some(block) = blocks.next_block() else { return };
        if self.block != NonNull::dangling() {
            self.base += self.head as u64;
            self.sequence += 1;
        }
        self.block = block;
        self.head = 0;
        self.t0 = now;
        // Empty before its header changes: a reader believes no header above a head of 0.
        self.header_u32(block::HEAD).store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.header_u32(block::UID).store(self.uid, Ordering::Relaxed);
        self.header_u32(block::TID).store(self.tid, Ordering::Relaxed);
        self.header_u32(block::CLOCK_MODE).store(ClockMode::Precise as u32, Ordering::Relaxed);
        self.header_u64(block::SEQUENCE, self.sequence);
        self.header_u64(block::T0, now);
        self.header_u64(block::BASE, self.base);
    }

    /// How many times were clamped and events dropped since this was last asked.
    pub(crate) fn take_losses(&mut self) -> (u32, u32) {
        (std::mem::take(&mut self.clamped), std::mem::take(&mut self.dropped))
    }

    fn header_u32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: `block` is a block of the mapping (only called after `open_block` took one), offsets are
        // inside of its header and multiples of 4, and the mapping outlives everything.
        unsafe { AtomicU32::from_ptr(self.block.add(offset).cast().as_ptr()) }
    }

    fn header_u64(&self, offset: usize, value: u64) {
        // SAFETY: as for `header_u32`; the offsets given are multiples of 8.
        unsafe { store_u64(self.block.add(offset).cast(), value) }
    }

    #[inline]
    fn store_word(&self, index: usize, value: u64) {
        debug_assert!(index < BLOCK_WORDS);
        // SAFETY: `index < BLOCK_WORDS` (the callers have looked), so this is inside of the open block;
        // words are 8-aligned because blocks and their headers are.
        unsafe { store_u64(self.block.add(block::WORDS + index * 8).cast(), value) }
    }
}

/// A 64-bit store that is one instruction where the machine has it, and two 32-bit ones elsewhere: there
/// a torn word lies above the head, where nobody looks.
///
/// # Safety
/// `to` must be valid for writes of 8 bytes, aligned to 8, and written by this thread only.
#[inline]
unsafe fn store_u64(to: NonNull<u64>, value: u64) {
    if cfg!(target_pointer_width = "64") {
        // SAFETY: the caller's promise; atomic so that a reader in this process may look meanwhile.
        unsafe { AtomicU64::from_ptr(to.as_ptr()) }.store(value, Ordering::Relaxed);
    } else {
        let halves = to.cast::<u32>();
        // SAFETY: both halves lie inside of the 8 bytes.
        unsafe {
            AtomicU32::from_ptr(halves.as_ptr()).store(value as u32, Ordering::Relaxed);
            AtomicU32::from_ptr(halves.add(1).as_ptr()).store((value >> 32) as u32, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::layout::BLOCK_LEN;

    /// Blocks out of ordinary memory.
    struct Heap {
        blocks: Vec<Box<[u64; BLOCK_LEN / 8]>>,
        limit: usize,
    }

    impl BlockSource for Heap {
        fn next_block(&mut self) -> Option<NonNull<u8>> {
            if self.blocks.len() == self.limit {
                return None;
            }
            self.blocks.push(Box::new([u64::MAX; BLOCK_LEN / 8]));
            Some(NonNull::from(self.blocks.last_mut()?.as_mut_slice()).cast())
        }
    }

    fn header(block: &[u64], offset: usize) -> u32 {
        (block[offset / 8] >> (offset % 8 * 8)) as u32
    }

    #[test]
    fn blocks_count_on_and_payload_is_never_split() {
        let mut heap = Heap { blocks: Vec::new(), limit: 9 };
        let mut writer = Writer::new(7, 70);
        let three = Event::Clock(Default::default()).encode();
        for _ in 0..300 {
            writer.put(&mut heap, &three);
        }
        assert_eq!(heap.blocks.len(), 2);
        let (first, second) = (&heap.blocks[0], &heap.blocks[1]);
        // 254 events of 4 words are 1016 words: exactly a block.
        assert_eq!(header(&first[..], block::HEAD), 1016);
        assert_eq!(header(&second[..], block::HEAD), 46 * 4);
        assert_eq!((second[block::SEQUENCE / 8], second[block::BASE / 8]), (1, 1016));
        assert_eq!((header(&second[..], block::UID), header(&second[..], block::TID)), (7, 70));
        assert_eq!(writer.take_losses(), (0, 0));
    }

    #[test]
    fn without_a_block_events_are_counted_as_dropped_and_the_full_block_stays_whole() {
        let mut heap = Heap { blocks: Vec::new(), limit: 1 };
        let mut writer = Writer::new(1, 1);
        for id in 1..=1_020 {
            writer.put(&mut heap, &Event::Enter(id).encode());
        }
        assert_eq!(writer.take_losses(), (0, 4));
        assert_eq!(header(&heap.blocks[0][..], block::HEAD), 1016);
        // Room again: the count goes on behind the full block.
        heap.limit = 2;
        writer.put(&mut heap, &Event::Enter(1).encode());
        assert_eq!((heap.blocks[1][block::SEQUENCE / 8], heap.blocks[1][block::BASE / 8]), (1, 1016));
    }
}
