//! One thread's writer: the hot path.
//!
//! The order of stores is the protocol drawn in [`trace_format::layout`] and kept in [`crate::memory::block`]. Nothing here
//! allocates, locks or enters the kernel, but for a new block every thousand words.
//!
//! # Two hands, one pen
//! In coarse mode `MethodBeat` writes the words of methods itself, in Java, into the block that this writer has open,
//! and keeps the position ([`Writer::lend`]). Whatever is written here takes the pen back first: it closes the
//! thread's [gate](crate::gate), so that Java's next event comes here too, and finds out how far Java has come
//! ([`block::end`]). Both hands belong to one thread, so they never write at the same time, and whatever order the thread
//! calls them in is the order in the ring. So nobody who records anything by another way than `MethodBeat` has to
//! know of Java's position.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use trace_format::Event;
use trace_format::event::Encoded;
use trace_format::layout::{BLOCK_HEADER_LEN, BLOCK_LEN, BLOCK_WORDS, ClockMode, block as at};
use trace_format::word;

use crate::gate::{CLAIM, FOLLOW, Gate};
use crate::memory::block::{self, BlockMemory, Life, RawBlock};
use crate::memory::open_calls::Open;
use crate::memory::pool::Kept;
use crate::memory::stale::{self, Stale};
use crate::memory::storage::Followed;
use crate::time::fold;

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

    /// What others may still store into the block that [`BlockSource::next_block`] gave last.
    fn stale(&self) -> &Stale {
        &Stale::NONE
    }

    /// Whether the writer still has its block, which others may be given while it is silent.
    fn keep(&mut self) -> Kept {
        Kept::Own
    }

    /// Counts times that would have run back, and events that found no block, where a kill cannot undo it.
    fn count_losses(&mut self, clamped: u32, dropped: u32);
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
    /// The gate's address, 64 bits on every machine.
    java_gate: u64,
    gate: &'static Gate,
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
    /// Words of the block that are not taken back.
    floor: usize,
    uid: u32,
    tid: u32,
    mode: ClockMode,
    /// What is open at the begin of the block, or behind the words of it that were passed.
    open: Open,
    passed: usize,
}

// SAFETY: the open block belongs to this value alone, and its memory is never unmapped.
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) fn new(uid: u32, tid: u32, gate: &'static Gate) -> Self {
        Self {
            java_gate: std::ptr::from_ref(gate) as usize as u64,
            gate,
            lent: false,
            // SAFETY: its head says that it is full, so nothing behind its header is ever reached and nothing stored to it,
            // and it is never freed.
            block: unsafe { RawBlock::new(NonNull::from(&FULL).cast()) },
            t0: 0,
            last: 0,
            sequence: 0,
            base: 0,
            floor: BLOCK_WORDS,
            uid,
            tid,
            mode: ClockMode::Precise,
            open: Open::new(),
            passed: 0,
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    pub(crate) fn gate(&self) -> &'static Gate {
        self.gate
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
    /// Java has seen. An exit that ends a call of `limit` ns or less, of which nothing else is left, takes its enter back
    /// ([`fold`](crate::time::fold)).
    #[inline]
    pub(crate) fn put(
        &mut self,
        blocks: &mut impl BlockSource,
        event: &Encoded,
        mut now: u64,
        mode: ClockMode,
        limit: u64,
    ) -> u64 {
        self.gate.enter();
        if self.gate.is_asked_to(CLAIM) {
            self.keep(blocks);
        }
        if now < self.last {
            blocks.count_losses(1, 0);
            now = self.last;
        }
        self.take_back();
        if event.is_exit() && self.fold(event.id, now, limit) {
            self.gate.leave();
            self.last = now;
            return now;
        }
        let needed = 1 + event.payload().len();
        let mut head = self.head();
        if self.gate.is_asked() || self.lacks_room(head, now, needed, mode) {
            self.make_room(blocks, now, needed, mode);
            head = self.head();
        }
        if head + needed <= room(self.mode) {
            self.store(event, head, now);
        } else {
            blocks.count_losses(0, 1);
        }
        self.gate.leave();
        self.last = now;
        now
    }

    /// Takes the enter of the method back if it is the last word and at most `limit` ns old; gives whether it did.
    #[inline]
    fn fold(&mut self, id: u32, now: u64, limit: u64) -> bool {
        let head = self.head();
        if limit == fold::NOTHING || head <= self.floor || head > BLOCK_WORDS {
            return false;
        }
        let length =
            word::pack(true, id, now.wrapping_sub(self.t0)).wrapping_sub(self.block.load_word(head - 1));
        // With another id or an exit this is more than any limit.
        let folds = length <= limit;
        if folds {
            block::take_back_word(&self.block, head, self.mode);
        }
        folds
    }

    /// The block was about to be given to another thread, or was given.
    #[cold]
    fn keep(&mut self, blocks: &mut impl BlockSource) {
        if let Kept::Lost(words) = blocks.keep() {
            self.base += u64::from(words);
            self.sequence += 1;
            self.open.forget();
            self.forget_block();
        }
    }

    /// There is no block from here on, until there is a new one.
    fn forget_block(&mut self) {
        self.set_lent(false);
        self.floor = BLOCK_WORDS;
        // SAFETY: as in `new`.
        self.block = unsafe { RawBlock::new(NonNull::from(&FULL).cast()) };
    }

    fn set_lent(&mut self, lent: bool) {
        self.lent = lent;
        self.gate.lent.store(lent, Ordering::Relaxed);
    }

    /// The thread is ending: nothing is written any more, even if it calls.
    pub(crate) fn end(&mut self) {
        self.gate.close();
        self.forget_block();
    }

    /// As [`Writer::take_back`], if the block is this writer's.
    pub(crate) fn take_back_own(&mut self) {
        self.gate.enter();
        if !self.gate.is_asked_to(CLAIM) {
            self.take_back();
        }
        self.gate.leave();
    }

    /// From here on Java does not write until it is lent the pen again; the head says how far it has come.
    #[inline]
    fn take_back(&mut self) {
        if self.lent {
            self.set_lent(false);
            self.gate.close();
            let end = block::end(&self.block, self.head());
            block::publish_until(&self.block, end);
            self.settle(end);
        }
    }

    /// No word below `head` is taken back from here on.
    #[inline]
    fn settle(&mut self, head: usize) {
        self.floor = head;
        block::settle(&self.block, head);
    }

    /// As [`Writer::take_back`], from Java, which would have written its next word in front of `behind`: nothing has to
    /// be looked for.
    #[inline]
    pub(crate) fn hand_back(&mut self, behind: u64) {
        let words = self.block.start().as_ptr().addr() as u64 + at::WORDS as u64;
        let end = behind.wrapping_sub(words) / 8;
        self.gate.enter();
        // What is lent begins behind the head and ends in front of the last word.
        if self.lent
            && !self.gate.is_asked_to(CLAIM)
            && (self.head() as u64 + 1..=BLOCK_WORDS as u64).contains(&end)
        {
            self.set_lent(false);
            self.gate.close();
            block::publish_until(&self.block, end as usize - 1);
            self.settle(end as usize - 1);
        }
        self.gate.leave();
    }

    /// Lets Java write methods' words behind the last event, which had the time `now`. Gives the address behind the next
    /// word, where Java stores a 0 first; 0 if everything goes through here.
    pub(crate) fn lend(&mut self, now: u64) -> u64 {
        self.gate.enter();
        let behind = if self.gate.is_asked_to(CLAIM) { 0 } else { self.lend_own(now) };
        self.gate.leave();
        behind
    }

    fn lend_own(&mut self, now: u64) -> u64 {
        self.take_back();
        let (head, since) = (self.head(), now.wrapping_sub(self.t0));
        let start = self.block.start().as_ptr().addr();
        let may = self.mode == ClockMode::Coarse
            && cfg!(target_pointer_width = "64")
            && start.is_multiple_of(BLOCK_LEN)
            && head < room(ClockMode::Coarse)
            && since < word::MAX_GAP;
        // What Java wrote is found out only with this set.
        let lent = may && self.gate.open(self.t0, since);
        self.set_lent(lent);
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
    pub(crate) fn put_method(&mut self, id: u32, begin: bool, now: u64, limit: u64) -> bool {
        self.gate.enter();
        let head = self.head();
        let gap = now.wrapping_sub(self.last);
        // A time that runs back makes a gap above every bound. In precise mode Java never has the pen.
        if head >= BLOCK_WORDS
            || gap > word::MAX_GAP
            || self.mode != ClockMode::Precise
            || self.gate.is_asked()
        {
            self.gate.leave();
            return false;
        }
        self.last = now;
        if begin || !self.fold(id, now, limit) {
            block::publish(&self.block, head, word::pack(begin, id, now.wrapping_sub(self.t0)), &[]);
        }
        self.gate.leave();
        true
    }

    pub(crate) fn mode(&self) -> ClockMode {
        self.mode
    }

    /// Stores an event that fits, and publishes it.
    #[inline]
    fn store(&mut self, event: &Encoded, head: usize, now: u64) {
        let first = event.word(now.wrapping_sub(self.t0));
        if !event.is_method() {
            // Before it is published: a copy takes what is above the floor for methods' words.
            self.settle(head + 1 + event.payload().len());
        }
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
        if !self.gate.is_asked_to(FOLLOW) {
            return;
        }
        match blocks.follow(self.block.start()) {
            Followed::To(start) => {
                // SAFETY: the same block in the file's mapping, which outlives everything, and this writer's alone to
                // write to, as the one in memory was.
                self.block = unsafe { RawBlock::new(start) };
                self.settle(self.head());
            }
            Followed::IsThere => {}
            Followed::NotYet => return,
        }
        self.gate.answer(FOLLOW);
    }

    fn open_block(&mut self, blocks: &mut impl BlockSource, now: u64, mode: ClockMode) {
        // Before it is emptied: it may be the next one as well.
        let head = self.head();
        if !self.is_fresh() {
            // And before another thread may be given it. Once only, if there is no block to go on in.
            self.open.pass(&self.block, self.passed, head);
            self.passed = head;
            self.settle(head);
        }
        let Some(start) = blocks.next_block() else { return };
        if !self.is_fresh() {
            self.base += head as u64;
            self.sequence += 1;
        }
        // SAFETY: a block that was handed out is one of the mapping, which outlives everything, and this writer's
        // alone to write to.
        self.block = unsafe { RawBlock::new(start) };
        self.passed = 0;
        self.t0 = now;
        self.mode = mode;
        let life =
            Life { uid: self.uid, tid: self.tid, sequence: self.sequence, t0: now, base: self.base, mode };
        block::open(&self.block, &life);
        stale::pad(&self.block, blocks.stale());
        self.tell_open(now);
        if blocks.is_left_behind(start) {
            self.gate.ask(FOLLOW);
        }
    }

    /// Says at the begin of a block what is open.
    fn tell_open(&mut self, now: u64) {
        let mut head = self.head();
        let (block, mode, since) = (&self.block, self.mode, now.wrapping_sub(self.t0));
        for event in self.open.events() {
            let event = event.encode();
            head = if mode == ClockMode::Coarse {
                block::publish_before_java(block, head, event.word(since), event.payload())
            } else {
                block::publish(block, head, event.word(since), event.payload())
            };
        }
        self.settle(head);
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
        losses: (u32, u32),
    }

    impl BlockSource for Heap {
        fn next_block(&mut self) -> Option<NonNull<u8>> {
            if self.blocks.len() == self.limit {
                return None;
            }
            self.blocks.push(Box::new([u64::MAX; BLOCK_LEN / 8]));
            Some(NonNull::from(self.blocks.last_mut()?.as_mut_slice()).cast())
        }

        fn count_losses(&mut self, clamped: u32, dropped: u32) {
            self.losses = (self.losses.0 + clamped, self.losses.1 + dropped);
        }
    }

    fn gate() -> &'static Gate {
        Box::leak(Box::new(Gate::new()))
    }

    fn header(block: &[u64], offset: usize) -> u32 {
        (block[offset / 8] >> (offset % 8 * 8)) as u32
    }

    #[test]
    fn blocks_count_on_and_payload_is_never_split() {
        let mut heap = Heap { blocks: Vec::new(), limit: 9, losses: (0, 0) };
        let mut writer = Writer::new(7, 70, gate());
        let three = Event::Clock(Default::default()).encode();
        for _ in 0..300 {
            writer.put(&mut heap, &three, clock::boottime(), ClockMode::Precise, fold::NOTHING);
        }
        assert_eq!(heap.blocks.len(), 2);
        let (first, second) = (&heap.blocks[0], &heap.blocks[1]);
        // 254 events of 4 words are 1016 words: exactly a block.
        assert_eq!(header(&first[..], block::HEAD), 1016);
        assert_eq!(header(&second[..], block::HEAD), 46 * 4);
        assert_eq!((second[block::SEQUENCE / 8], second[block::BASE / 8]), (1, 1016));
        assert_eq!((header(&second[..], block::UID), header(&second[..], block::TID)), (7, 70));
        assert_eq!(heap.losses, (0, 0));
    }

    #[test]
    fn without_a_block_events_are_counted_as_dropped_and_the_full_block_stays_whole() {
        let mut heap = Heap { blocks: Vec::new(), limit: 1, losses: (0, 0) };
        let mut writer = Writer::new(1, 1, gate());
        for id in 1..=1_020 {
            writer.put(&mut heap, &Event::Enter(id).encode(), 5, ClockMode::Precise, fold::NOTHING);
        }
        assert_eq!(heap.losses, (0, 4));
        assert_eq!(header(&heap.blocks[0][..], block::HEAD), 1016);
        // Room again: the count goes on behind the full block.
        heap.limit = 2;
        writer.put(&mut heap, &Event::Enter(1).encode(), 6, ClockMode::Precise, fold::NOTHING);
        assert_eq!((heap.blocks[1][block::SEQUENCE / 8], heap.blocks[1][block::BASE / 8]), (1, 1016));
    }

    /// A call of a played program: ids are different, so that each is known again.
    #[derive(Clone, Copy, Debug)]
    struct Call {
        parent: Option<usize>,
        begin: u64,
        end: u64,
        /// A typed event lies in it, outside of its callees.
        marked: bool,
    }

    /// Plays a program that a number decides on; gives its calls and what is left in the blocks.
    fn play(mut seed: u64, mode: ClockMode, limit: u64) -> (Vec<Call>, Vec<(u64, Event)>, usize) {
        let mut draw = move |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        let mut heap = Heap { blocks: Vec::new(), limit: 99, losses: (0, 0) };
        let mut writer = Writer::new(1, 1, gate());
        let (mut calls, mut open, mut now) = (Vec::<Call>::new(), Vec::<usize>::new(), 1_000);
        for _ in 0..6_000 {
            if draw(3) == 0 {
                // Most of the time stands still between two events, as in coarse time.
                now += draw(9);
            }
            match draw(20) {
                0 => {
                    writer.put(&mut heap, &Event::Mark(Default::default()).encode(), now, mode, limit);
                    open.last().into_iter().for_each(|call| calls[*call].marked = true);
                }
                1..11 if open.len() < 40 => {
                    calls.push(Call { parent: open.last().copied(), begin: now, end: 0, marked: false });
                    open.push(calls.len() - 1);
                    writer.put(&mut heap, &Event::Enter(calls.len() as u32).encode(), now, mode, limit);
                }
                _ => {
                    let Some(call) = open.pop() else { continue };
                    calls[call].end = now;
                    if mode == ClockMode::Coarse || !writer.put_method(call as u32 + 1, false, now, limit) {
                        writer.put(&mut heap, &Event::Exit(call as u32 + 1).encode(), now, mode, limit);
                    }
                }
            }
        }
        while let Some(call) = open.pop() {
            now += 1_000;
            calls[call].end = now;
            writer.put(&mut heap, &Event::Exit(call as u32 + 1).encode(), now, mode, limit);
        }
        let mut events = Vec::new();
        for block in &heap.blocks {
            let (head, words) = (header(&block[..], block::HEAD) as usize, &block[block::WORDS / 8..]);
            let mut cursor = trace_format::Cursor::new(block[block::T0 / 8], head);
            events.extend(std::iter::from_fn(|| cursor.step(|i| words[i])).map(Result::unwrap));
        }
        (calls, events, heap.blocks.len())
    }

    #[test]
    fn what_is_left_is_every_longer_call_with_its_callers_and_true_times() {
        for seed in 1..40_u64 {
            let mode = if seed % 2 == 0 { ClockMode::Coarse } else { ClockMode::Precise };
            let limit = [0, 0, 5, 30][seed as usize / 2 % 4];
            let (calls, events, blocks) = play(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), mode, limit);
            // Those that are left, in the order of their begins, and what each of them lies in.
            let (mut open, mut left, mut borders) = (Vec::<usize>::new(), vec![None; calls.len()], 0);
            for (time, event) in &events {
                match event {
                    Event::Enter(id) => {
                        let call = *id as usize - 1;
                        assert_eq!(calls[call].begin, *time);
                        left[call] = Some(open.last().copied());
                        open.push(call);
                    }
                    Event::Exit(id) => {
                        let call = *id as usize - 1;
                        assert_eq!((open.pop(), calls[call].end), (Some(call), *time));
                    }
                    Event::OpenCalls(told) => {
                        borders += 1;
                        let wanted: Vec<_> =
                            open.iter().skip(told.first as usize).map(|call| *call as u32 + 1).collect();
                        assert_eq!(told.depth as usize, open.len());
                        let named: Vec<_> = told.ids().collect();
                        assert!(wanted.starts_with(&named), "{named:?} of {wanted:?}");
                    }
                    _ => {}
                }
            }
            assert!(open.is_empty() && borders <= blocks);
            let holds = |call: usize, what: &dyn Fn(usize) -> bool| {
                (0..calls.len()).any(|inner| calls[inner].parent == Some(call) && what(inner))
            };
            let mut at_borders = 0;
            for (number, call) in calls.iter().enumerate() {
                let Some(parent) = left[number] else {
                    assert!(call.end - call.begin <= limit, "{call:?}");
                    continue;
                };
                // Its nearest caller that is left.
                let callers = std::iter::successors(call.parent, |caller| calls[*caller].parent);
                assert_eq!(parent, callers.into_iter().find(|caller| left[*caller].is_some()));
                let short = call.end - call.begin <= limit && !call.marked;
                at_borders += usize::from(short && !holds(number, &|inner| left[inner].is_some()));
            }
            // Where a block ends between a begin and its end, both stay.
            assert!(at_borders <= blocks, "{at_borders} at {blocks} blocks, seed {seed}");
        }
    }
}
