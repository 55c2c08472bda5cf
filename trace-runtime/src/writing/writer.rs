//! One thread's writer: the hot path.
//!
//! The order of stores is the protocol drawn in [`trace_format::layout`] and kept in [`crate::memory::block`]. Nothing here
//! allocates, locks or enters the kernel, but for a new block every thousand words.
//!
//! # Two hands, one pen
//! In coarse mode `MethodBeat` writes the words of methods itself, in Java, into the block that this writer has open,
//! and keeps the position ([`Writer::lend`]). Whatever is written here takes the pen back first: it closes the
//! thread's [door](crate::writing::door), so that Java's next event comes here too, and finds out how far Java has come
//! ([`block::end`]). Both hands belong to one thread, so they never write at the same time, and whatever order the thread
//! calls them in is the order in the ring. So nobody who records anything by another way than `MethodBeat` has to
//! know of Java's position.

use std::ptr::NonNull;

use trace_format::Event;
use trace_format::event::Encoded;
use trace_format::layout::{BLOCK_HEADER_LEN, BLOCK_LEN, BLOCK_WORDS, ClockMode, block as at};
use trace_format::word;

use crate::memory::block::{self, BlockMemory, Life, RawBlock};
use crate::writing::door::Door;

/// Who hands out blocks, and which one is next.
pub(crate) trait BlockSource {
    /// A block for the writer's next words; its head is 0. `None` if there is none to be had.
    fn next_block(&mut self) -> Option<NonNull<u8>>;

    /// Takes the block at `block`, with all that is in it, along to the recording's file.
    fn follow(&mut self, _block: NonNull<u8>) -> Followed {
        Followed::IsThere
    }

    /// Whether the block at `block` is in memory although the recording has a file.
    fn is_left_behind(&self, _block: NonNull<u8>) -> bool {
        false
    }
}

/// What became of a block that was to go to the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Followed {
    /// It is there from now on, at this place.
    To(NonNull<u8>),
    /// It was there.
    IsThere,
    /// The worker is busy with it; next time.
    NotYet,
}

/// How many words a block takes: in coarse mode a 0 stands behind the last one.
const fn room(mode: ClockMode) -> usize {
    match mode {
        ClockMode::Precise => BLOCK_WORDS,
        ClockMode::Coarse => BLOCK_WORDS - 1,
    }
}

/// Stands for a block before the first one: always full, so that of all of it the head alone is ever looked at.
static FULL: [u64; BLOCK_HEADER_LEN / 8] = {
    let mut words = [0; BLOCK_HEADER_LEN / 8];
    words[at::HEAD / 8] = BLOCK_WORDS as u64;
    words
};

/// Writes one thread's words. `MethodBeat` reads the first field.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Writer {
    /// The door's address, 64 bits on every machine.
    java_door: u64,
    door: &'static Door,
    block: RawBlock,
    /// Java has the pen.
    lent: bool,
    /// What times are told from.
    t0: u64,
    /// Time of the last event that was written here.
    last: u64,
    sequence: u64,
    /// Words in the blocks before this one.
    base: u64,
    uid: u32,
    tid: u32,
    mode: ClockMode,
    /// Times that would have run back.
    clamped: u32,
    /// Events that found no block.
    dropped: u32,
}

// SAFETY: the open block belongs to this value alone, and its memory is never unmapped.
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) fn new(uid: u32, tid: u32, door: &'static Door) -> Self {
        Self {
            java_door: std::ptr::from_ref(door) as usize as u64,
            door,
            lent: false,
            // SAFETY: its head says that it is full, so nothing behind its header is ever reached and nothing stored to it,
            // and it is never freed.
            block: unsafe { RawBlock::new(NonNull::from(&FULL).cast()) },
            t0: 0,
            last: 0,
            sequence: 0,
            base: 0,
            uid,
            tid,
            mode: ClockMode::Precise,
            clamped: 0,
            dropped: 0,
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// Time of the last event that was written here, and not in Java.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    fn is_fresh(&self) -> bool {
        std::ptr::eq(self.block.start().as_ptr().cast_const(), FULL.as_ptr().cast())
    }

    #[inline]
    fn head(&self) -> usize {
        self.block.load_u32(at::HEAD) as usize
    }

    /// Writes an event at `now`, and gives its time: that, or the last one if it is later. With
    /// [`ClockMode::Coarse`] Java may get the pen afterwards, and `now` must not be less than any time that
    /// Java has seen.
    #[inline]
    pub(crate) fn put(
        &mut self,
        blocks: &mut impl BlockSource,
        event: &Encoded,
        mut now: u64,
        mode: ClockMode,
    ) -> u64 {
        if now < self.last {
            self.clamped += 1;
            now = self.last;
        }
        self.take_back();
        let needed = 1 + event.payload().len();
        let mut head = self.head();
        if self.door.is_asked() || self.lacks_room(head, now, needed, mode) {
            self.make_room(blocks, now, needed, mode);
            head = self.head();
        }
        if head + needed <= room(self.mode) {
            self.store(event, head, now);
        } else {
            self.dropped += 1;
        }
        self.last = now;
        now
    }

    /// From here on Java does not write until it is lent the pen again; the head says how far it has come.
    #[inline]
    pub(crate) fn take_back(&mut self) {
        if self.lent {
            self.lent = false;
            self.door.close();
            let end = block::end(&self.block, self.head());
            block::publish_until(&self.block, end);
        }
    }

    /// As [`Writer::take_back`], from Java, which would have written its next word in front of `behind`: nothing has to
    /// be looked for.
    #[inline]
    pub(crate) fn hand_back(&mut self, behind: u64) {
        let words = self.block.start().as_ptr().addr() as u64 + at::WORDS as u64;
        let end = behind.wrapping_sub(words) / 8;
        // What is lent begins behind the head and ends in front of the last word.
        if self.lent && (self.head() as u64 + 1..=BLOCK_WORDS as u64).contains(&end) {
            self.lent = false;
            self.door.close();
            block::publish_until(&self.block, end as usize - 1);
        }
    }

    /// Lets Java write methods' words behind the last event, which had the time `now`. Gives the address behind the next
    /// word, where Java stores a 0 first; 0 if everything goes through here.
    pub(crate) fn lend(&mut self, now: u64) -> u64 {
        self.take_back();
        let (head, since) = (self.head(), now.wrapping_sub(self.t0));
        let start = self.block.start().as_ptr().addr();
        let may = self.mode == ClockMode::Coarse
            && cfg!(target_pointer_width = "64")
            && start.is_multiple_of(BLOCK_LEN)
            && head < room(ClockMode::Coarse)
            && since < word::MAX_GAP;
        // What Java wrote is found out only with this set.
        self.lent = may && self.door.open(self.t0, since);
        if self.lent { (start + at::WORDS + (head + 1) * 8) as u64 } else { 0 }
    }

    #[inline]
    fn lacks_room(&self, head: usize, now: u64, needed: usize, mode: ClockMode) -> bool {
        // Java counts from t0, and this does not know its last time.
        let outgrown = mode == ClockMode::Coarse && now - self.t0 >= word::MAX_GAP;
        now - self.last > word::MAX_GAP || head + needed > room(mode) || mode != self.mode || outgrown
    }

    /// Writes a method's word at `now` if nothing stands in the way; gives whether it did. Cannot panic.
    #[inline]
    pub(crate) fn put_method(&mut self, id: u32, begin: bool, now: u64) -> bool {
        let head = self.head();
        let gap = now.wrapping_sub(self.last);
        // A time that runs back makes a gap above every bound. In precise mode Java never has the pen.
        if head >= BLOCK_WORDS
            || gap > word::MAX_GAP
            || self.mode != ClockMode::Precise
            || self.door.is_asked()
        {
            return false;
        }
        self.last = now;
        block::publish(&self.block, head, word::pack(begin, id, now.wrapping_sub(self.t0)), &[]);
        true
    }

    pub(crate) fn mode(&self) -> ClockMode {
        self.mode
    }

    /// Stores an event that fits, and publishes it.
    #[inline]
    fn store(&mut self, event: &Encoded, head: usize, now: u64) {
        let first = event.word(now.wrapping_sub(self.t0));
        if self.mode == ClockMode::Coarse {
            block::publish_before_java(&self.block, head, first, event.payload());
        } else {
            block::publish(&self.block, head, first, event.payload());
        }
    }

    /// The same block in the file if this is asked for; a TIME event before a gap that the time field cannot express, a new
    /// block where this one is full.
    ///
    /// A block that Java writes to gets no TIME event: it stays open for less than [`word::MAX_GAP`] from its t0,
    /// because there is no lending and no ticking beyond.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, blocks: &mut impl BlockSource, now: u64, needed: usize, mode: ClockMode) {
        self.follow(blocks);
        let head = self.head();
        if !self.lacks_room(head, now, needed, mode) {
            return;
        }
        if mode != self.mode || mode == ClockMode::Coarse || head + 2 + needed > BLOCK_WORDS {
            // A new block carries the full time: no gap to speak of.
            self.open_block(blocks, now, mode);
        } else {
            self.store(&Event::Time(now).encode(), head, now);
            self.last = now;
        }
    }

    /// Takes the block along to the file if that was asked for.
    fn follow(&mut self, blocks: &mut impl BlockSource) {
        if !self.door.is_asked() {
            return;
        }
        match blocks.follow(self.block.start()) {
            // SAFETY: the same block in the file's mapping, which outlives everything, and this writer's alone to
            // write to, as the one in memory was.
            Followed::To(start) => self.block = unsafe { RawBlock::new(start) },
            Followed::IsThere => {}
            Followed::NotYet => return,
        }
        self.door.answer();
    }

    fn open_block(&mut self, blocks: &mut impl BlockSource, now: u64, mode: ClockMode) {
        let Some(start) = blocks.next_block() else { return };
        if !self.is_fresh() {
            self.base += self.head() as u64;
            self.sequence += 1;
        }
        // SAFETY: a block that was handed out is one of the mapping, which outlives everything, and this writer's
        // alone to write to.
        self.block = unsafe { RawBlock::new(start) };
        self.t0 = now;
        self.mode = mode;
        let life =
            Life { uid: self.uid, tid: self.tid, sequence: self.sequence, t0: now, base: self.base, mode };
        block::open(&self.block, &life);
        if blocks.is_left_behind(start) {
            self.door.ask();
        }
    }

    /// How many times were clamped and events dropped since this was last asked.
    pub(crate) fn take_losses(&mut self) -> (u32, u32) {
        (std::mem::take(&mut self.clamped), std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::clock;
    use trace_format::layout::{BLOCK_LEN, block};

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

    fn door() -> &'static Door {
        Box::leak(Box::new(Door::new()))
    }

    fn header(block: &[u64], offset: usize) -> u32 {
        (block[offset / 8] >> (offset % 8 * 8)) as u32
    }

    #[test]
    fn blocks_count_on_and_payload_is_never_split() {
        let mut heap = Heap { blocks: Vec::new(), limit: 9 };
        let mut writer = Writer::new(7, 70, door());
        let three = Event::Clock(Default::default()).encode();
        for _ in 0..300 {
            writer.put(&mut heap, &three, clock::boottime(), ClockMode::Precise);
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
        let mut writer = Writer::new(1, 1, door());
        for id in 1..=1_020 {
            writer.put(&mut heap, &Event::Enter(id).encode(), 5, ClockMode::Precise);
        }
        assert_eq!(writer.take_losses(), (0, 4));
        assert_eq!(header(&heap.blocks[0][..], block::HEAD), 1016);
        // Room again: the count goes on behind the full block.
        heap.limit = 2;
        writer.put(&mut heap, &Event::Enter(1).encode(), 6, ClockMode::Precise);
        assert_eq!((heap.blocks[1][block::SEQUENCE / 8], heap.blocks[1][block::BASE / 8]), (1, 1016));
    }
}
