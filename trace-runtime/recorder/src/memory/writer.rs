//! A thread's writer into its blocks: the hot path.
//!
//! The order of stores is the protocol drawn in [`trace_format::layout`] and kept in [`crate::memory::block`].
//! Nothing here allocates, locks or makes a system call, except for a new block every thousand words.
//!
//! # One position, two writers
//! In coarse mode `MethodBeat` writes the words of methods itself, in Java, into the block that this writer has
//! open, and keeps the position ([`Writer::grant`]). A native event reclaims the position first, unless it comes from
//! `MethodBeat` together with the position, which then stays Java's ([`Writer::put_beside_java`]): it closes
//! the thread's [gate](crate::gate), so that Java's next event comes here too, and finds how far Java has
//! written ([`block::end`]). Both writers run on one thread, so they never write at the same time, and the
//! order of the thread's calls is the order in the ring. Native code need not know of Java's position.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use trace_format::Event;
use trace_format::event::Encoded;
use trace_format::layout::{BLOCK_HEADER_LEN, BLOCK_LEN, BLOCK_WORDS, ClockMode, block as at};
use trace_format::word;

use crate::gate::{CLAIM, Gate, MIGRATE};
use crate::memory::block::{self, BlockMemory, Life, RawBlock};
use crate::memory::open_calls::OpenCallStack;
use crate::memory::stale::{self, Stale};
use crate::memory::storage::Migrated;
use crate::time::fold;

/// Hands out blocks, and says which one is next.
pub(crate) trait BlockSource {
    /// A block for the writer's next words; its head is 0. `None` if no block is available.
    fn next_block(&mut self) -> Option<NonNull<u8>>;

    /// Migrates the block at `block`, with its contents, to the recording's file.
    fn migrate(&mut self, _block: NonNull<u8>) -> Migrated {
        Migrated::InFile
    }

    /// Whether the block at `block` is in memory although the recording has a file.
    fn is_left_in_memory(&self, _block: NonNull<u8>) -> bool {
        false
    }

    /// Words that former owners may still store into the block that [`BlockSource::next_block`] returned last.
    fn stale(&self) -> &Stale {
        &Stale::NONE
    }

    /// Returns how many words the writer's block had, if the pool gave it away while the thread was silent.
    fn keep(&mut self) -> Option<u32> {
        None
    }

    /// Counts times that would have run back, and events that found no block, in the header, where they survive
    /// a kill.
    fn count_losses(&mut self, clamped: u32, dropped: u32);
}

/// How many words a block holds: in coarse mode a 0 follows the last one.
const fn room(mode: ClockMode) -> usize {
    match mode {
        ClockMode::Precise => BLOCK_WORDS,
        ClockMode::Coarse => BLOCK_WORDS - 1,
    }
}

/// The block before the first one: always full, so that only its head is ever read.
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
    gate_address: u64,
    gate: &'static Gate,
    block: RawBlock,
    /// Java's fast path owns the write position.
    granted: bool,
    /// The time that the words' times are relative to.
    t0: u64,
    /// Time of the last event written here.
    last: u64,
    sequence: u64,
    /// Words in the blocks before this one.
    base: u64,
    /// Words of the block that are never retracted.
    floor: usize,
    uid: u32,
    tid: u32,
    mode: ClockMode,
    /// Calls that are open at the start of the block, or behind the `passed` words of it.
    open: OpenCallStack,
    passed: usize,
}

// SAFETY: the open block belongs to this value alone, and its memory is never unmapped.
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) fn new(uid: u32, tid: u32, gate: &'static Gate) -> Self {
        Self {
            gate_address: std::ptr::from_ref(gate) as usize as u64,
            gate,
            granted: false,
            // SAFETY: its head says that it is full, so nothing behind its header is read or stored, and it is
            // never freed.
            block: unsafe { RawBlock::new(NonNull::from(&FULL).cast()) },
            t0: 0,
            last: 0,
            sequence: 0,
            base: 0,
            floor: BLOCK_WORDS,
            uid,
            tid,
            mode: ClockMode::Precise,
            open: OpenCallStack::new(),
            passed: 0,
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    pub(crate) fn gate(&self) -> &'static Gate {
        self.gate
    }

    /// Time of the last event that was written here, not in Java.
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

    /// Writes an event at `now`, and returns its time: `now`, or the last time if that is later. With
    /// [`ClockMode::Coarse`] Java may be granted the position afterwards, and `now` must not be less than any
    /// time that Java has read. An exit that ends a call of `limit` ns or less, of which nothing else is left,
    /// retracts its enter ([`fold`](crate::time::fold)).
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
        self.reclaim();
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

    /// Retracts the enter of the method if it is the last word and at most `limit` ns old; returns whether it
    /// did.
    #[inline]
    fn fold(&mut self, id: u32, now: u64, limit: u64) -> bool {
        let head = self.head();
        if limit == fold::NOTHING || head <= self.floor || head > BLOCK_WORDS {
            return false;
        }
        let length =
            word::pack(true, id, now.wrapping_sub(self.t0)).wrapping_sub(self.block.load_word(head - 1));
        // With another id, or after an exit, this is greater than any limit.
        let folds = length <= limit;
        if folds {
            block::retract_word(&self.block, head, self.mode);
        }
        folds
    }

    /// Handles a claim of the pool: the block may have been given to another thread.
    #[cold]
    fn keep(&mut self, blocks: &mut impl BlockSource) {
        if let Some(words) = blocks.keep() {
            self.base += u64::from(words);
            self.sequence += 1;
            self.open.forget();
            self.forget_block();
        }
    }

    /// Writes nothing until there is a new block.
    fn forget_block(&mut self) {
        self.set_granted(false);
        self.floor = BLOCK_WORDS;
        // SAFETY: as in `new`.
        self.block = unsafe { RawBlock::new(NonNull::from(&FULL).cast()) };
    }

    fn set_granted(&mut self, granted: bool) {
        self.granted = granted;
        self.gate.granted.store(granted, Ordering::Relaxed);
    }

    /// Ends the writer with its thread: nothing is written any more, even if the thread calls.
    pub(crate) fn end(&mut self) {
        self.gate.close();
        self.forget_block();
    }

    /// As [`Writer::reclaim`], if the block still belongs to this writer.
    pub(crate) fn reclaim_own(&mut self) {
        self.gate.enter();
        if !self.gate.is_asked_to(CLAIM) {
            self.reclaim();
        }
        self.gate.leave();
    }

    /// Takes the write position back from Java: the head then says how far Java has written.
    #[inline]
    fn reclaim(&mut self) {
        if self.granted {
            self.set_granted(false);
            self.gate.close();
            let end = block::end(&self.block, self.head());
            block::publish_until(&self.block, end);
            self.settle(end);
        }
    }

    /// From here on no word below `head` is retracted.
    #[inline]
    fn settle(&mut self, head: usize) {
        self.floor = head;
        block::settle(&self.block, head);
    }

    /// As [`Writer::reclaim`], called from Java, which would have written its next word before `behind`:
    /// nothing has to be searched.
    #[inline]
    pub(crate) fn release(&mut self, behind: u64) {
        let words = self.block.start().as_ptr().addr() as u64 + at::WORDS as u64;
        let end = behind.wrapping_sub(words) / 8;
        self.gate.enter();
        // The granted words start behind the head and end before the last word.
        if self.granted
            && !self.gate.is_asked_to(CLAIM)
            && (self.head() as u64 + 1..=BLOCK_WORDS as u64).contains(&end)
        {
            self.set_granted(false);
            self.gate.close();
            block::publish_until(&self.block, end as usize - 1);
            self.settle(end as usize - 1);
        }
        self.gate.leave();
    }

    /// Writes a typed event of this id and begin bit with the time `now` where Java would have written its next word before `behind`, and leaves the
    /// position to Java. Returns the address behind Java's next word; `None` if this needs [`Writer::put`]. `now` must not be
    /// less than any time that Java has read. Cannot panic.
    #[inline]
    pub(crate) fn put_beside_java(
        &mut self,
        first: (bool, u32),
        payload: &[u64],
        now: u64,
        behind: u64,
    ) -> Option<u64> {
        self.gate.enter();
        let after = self.put_granted(first, payload, now, behind);
        self.gate.leave();
        after
    }

    #[inline]
    fn put_granted(
        &mut self,
        (begin, id): (bool, u32),
        payload: &[u64],
        now: u64,
        behind: u64,
    ) -> Option<u64> {
        let words = self.block.start().as_ptr().addr() as u64 + at::WORDS as u64;
        let end = (behind.wrapping_sub(words) / 8) as usize;
        let needed = 1 + payload.len();
        if !self.granted
            || self.gate.is_asked()
            || now < self.last
            || !(self.head() + 1..=BLOCK_WORDS).contains(&end)
            || self.lacks_room(end - 1, now, needed, ClockMode::Coarse)
            // Main's next word in Java has no earlier time than this event.
            || !self.gate.advance(now - self.t0)
        {
            return None;
        }
        let head = end - 1;
        block::publish_until(&self.block, head);
        self.settle(head);
        // Before the event is published, as in `store`.
        self.settle(head + needed);
        let first = word::pack(begin, id, now.wrapping_sub(self.t0));
        block::publish_before_java(&self.block, head, first, payload);
        self.last = now;
        Some(behind + needed as u64 * 8)
    }

    /// Grants Java the write position behind the last event, which had the time `now`. Returns the address
    /// behind the next word, where Java stores a 0 first; 0 if all events go through here.
    pub(crate) fn grant(&mut self, now: u64) -> u64 {
        self.gate.enter();
        let behind = if self.gate.is_asked_to(CLAIM) { 0 } else { self.grant_own(now) };
        self.gate.leave();
        behind
    }

    fn grant_own(&mut self, now: u64) -> u64 {
        self.reclaim();
        let (head, since) = (self.head(), now.wrapping_sub(self.t0));
        let start = self.block.start().as_ptr().addr();
        let may = self.mode == ClockMode::Coarse
            && cfg!(target_pointer_width = "64")
            && start.is_multiple_of(BLOCK_LEN)
            && head < room(ClockMode::Coarse)
            && since < word::MAX_GAP;
        // Only with this set is what Java wrote found later.
        let granted = may && self.gate.open(self.t0, since);
        self.set_granted(granted);
        if self.granted { (start + at::WORDS + (head + 1) * 8) as u64 } else { 0 }
    }

    #[inline]
    fn lacks_room(&self, head: usize, now: u64, needed: usize, mode: ClockMode) -> bool {
        // Java counts from t0, and its last time is not known here.
        let outgrown = mode == ClockMode::Coarse && now - self.t0 >= word::MAX_GAP;
        now - self.last > word::MAX_GAP || head + needed > room(mode) || mode != self.mode || outgrown
    }

    /// Writes a method's word at `now` if it can be written at once; returns whether it was. Cannot panic.
    #[inline]
    pub(crate) fn put_method(&mut self, id: u32, begin: bool, now: u64, limit: u64) -> bool {
        self.gate.enter();
        let head = self.head();
        let gap = now.wrapping_sub(self.last);
        // A time that runs back makes a gap above every bound. In precise mode Java is never granted the
        // position.
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
        if !event.is_plain() {
            // Before it is published: a copy takes what is above the floor for methods' words.
            self.settle(head + 1 + event.payload().len());
        }
        if self.mode == ClockMode::Coarse {
            block::publish_before_java(&self.block, head, first, event.payload());
        } else {
            block::publish(&self.block, head, first, event.payload());
        }
    }

    /// Makes room for an event: migrates the block if that is requested, writes a TIME event before a gap that
    /// the time field cannot express, and opens a new block where this one is full.
    ///
    /// A block that Java writes to gets no TIME event: it stays open for less than [`word::MAX_GAP`] from its
    /// t0, because nothing is granted and no tick counts beyond.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, blocks: &mut impl BlockSource, now: u64, needed: usize, mode: ClockMode) {
        self.migrate(blocks);
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

    /// Migrates the block to the file if that was requested.
    fn migrate(&mut self, blocks: &mut impl BlockSource) {
        if !self.gate.is_asked_to(MIGRATE) {
            return;
        }
        match blocks.migrate(self.block.start()) {
            Migrated::To(start) => {
                // SAFETY: the same block in the file's mapping, which outlives everything, and this writer's alone to
                // write to, as the one in memory was.
                self.block = unsafe { RawBlock::new(start) };
                self.settle(self.head());
            }
            Migrated::InFile => {}
            Migrated::NotYet => return,
        }
        self.gate.answer(MIGRATE);
    }

    fn open_block(&mut self, blocks: &mut impl BlockSource, now: u64, mode: ClockMode) {
        // Before the block is emptied: it may also be the next one.
        let head = self.head();
        if !self.is_fresh() {
            // And before another thread may be given it. Once only, if there is no further block.
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
        self.record_open_calls(now);
        if blocks.is_left_in_memory(start) {
            self.gate.ask(MIGRATE);
        }
    }

    /// Records the open calls at the start of a block.
    fn record_open_calls(&mut self, now: u64) {
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

    /// A call of a simulated program: ids are different, so that each is recognized.
    #[derive(Clone, Copy, Debug)]
    struct Call {
        parent: Option<usize>,
        begin: u64,
        end: u64,
        /// A typed event is in it, outside of its callees.
        marked: bool,
    }

    /// Simulates a program that the seed decides; returns its calls and what is left in the blocks.
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
            // Those that are left, in the order of their starts, and what contains each of them.
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
                    Event::OpenCalls(named_calls) => {
                        borders += 1;
                        let wanted: Vec<_> = open
                            .iter()
                            .skip(named_calls.first as usize)
                            .map(|call| *call as u32 + 1)
                            .collect();
                        assert_eq!(named_calls.depth as usize, open.len());
                        let named: Vec<_> = named_calls.ids().collect();
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
