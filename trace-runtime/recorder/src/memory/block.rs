//! The two sides of a block: the writer, which fills it and empties it for its next life, and a reader, which
//! copies it meanwhile. Neither waits for the other.
//!
//! # Why a copy is right or refused
//! The writer of a life stores, in this order (`F` is a release fence):
//! ```text
//! F  head = EMPTYING  F  sequence, uid, t0, base ...  F  head = 0  F  words  F  head = n  more words  F  head = m ...
//! ```
//! The copier loads (`F` is an acquire fence):
//! ```text
//! sequence  F  head = h  F  t0, base, words below h  F  head  F  sequence
//! ```
//! It accepts the copy if both loads of `sequence` returned the life it asked for, and the second head is
//! neither EMPTYING nor below `h`.
//! * `h` is of this life or a later one: the sequence it loaded was stored after the fence after `head =
//!   EMPTYING`.
//! * What it read below `h` is no older than what `h` published (fence before the store of the head, fence
//!   after its load).
//! * Nothing it read is of a later life. If one word were, the fences order that life's `head = EMPTYING`
//!   before the second load of the head: this returns EMPTYING, which is refused, or a head that the later
//!   life stored, and then the last load of `sequence` returns the later sequence, which is refused.
//!
//! # What Java writes
//! In coarse mode Java stores methods' words behind the head, one after the other, and the head does not move
//! until the native writer reclaims the position. So a word that is 0 follows the last one: Java stores a 0
//! behind each word *before* the word; no method's word is 0. A reader of a coarse block continues from the
//! head as long as it finds methods' words ([`end`]). The words that it counts in this way are of this life:
//! * after a kill, because every store before the kill is there and none after it: the 0 was stored before
//!   the word before it;
//! * beside the writer, if stores become visible in order, as on x86: a thread that sees a word sees the 0
//!   behind it, or what the same life has stored there since. Elsewhere, where Java stores without a fence,
//!   [`open`] stores 0 in *all* words before `head = 0`: then a word behind the head that is not 0 is of this
//!   life. A word that becomes visible before the one in front of it does no harm: the reader stops in front
//!   of both.
//! * Typed events are written by the native writer alone, which publishes them by the head, with their
//!   payload: a reader that continues from an older head stops in front of them.
//! * On 32-bit machines Java does not write, and a native word's lower half is stored first: torn, it has no
//!   id.
//!
//! A head of 0 and a first word of 0 mean that there is nothing to copy yet.
//!
//! # Words that are retracted
//! A call that was too short to be recorded retracts its enter: that was the last word, and the writer, in
//! Java or native, stores a 0 there, or a smaller head, and continues in its place. So the last words of a
//! block are not final. Three things bound which:
//! * `floor`: no word below it is ever retracted. The native writer raises it for each of its own events
//!   before it publishes the event, and when it leaves the block, and Java retracts only what it wrote since
//!   it was granted the position, which is behind the head. From the floor on there are only methods' words.
//! * An enter is retracted only by an exit that comes within the length of a short call, by the clock that
//!   words are written with. So a thread that reads that clock later leaves a word that is older than that
//!   length and two ticks.
//! * One exception: a thread that was preempted between its load of the last word and its store changes that
//!   word when it continues, after however long, or appends one with an old time. It does so once, and what
//!   it writes next has a new time.
//!
//! A copy takes the words below the floor as above, and then one after the other those that are older than
//! the *horizon* ([`Ring::horizon`](crate::memory::ring::Ring::horizon)). It is a snapshot of the moment at
//! which it loaded the last word that it took: of the words in front of that one none has changed since it
//! was loaded, because the only old word that may change was the last one of all, and it is followed only by
//! words with a new time, in front of which the copy stops. So as a rule a copy leaves out what happened in
//! the last two ticks.
//!
//! The last word of a copy may be retracted later by such a thread. A reader that continues behind a copy
//! checks whether it is still there.
//!
//! After a kill the block is whole: Java retracts a word with one store; the native writer lowers the head
//! first, and a word that is still found behind it is a call that has not ended.
//!
//! # 32-bit machines
//! A 64-bit word is stored and loaded as two halves there, so every 64-bit field can be seen torn. Words, `t0`
//! and `base` never change between the fence that publishes them and the next life: torn ones are either
//! above the head or of a later life, and refused as above. A torn `sequence` mixes the halves of two lives,
//! which differ in the upper one only once in 2^32 blocks, four thousand thousand million words.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};

use trace_format::layout::{BLOCK_LEN, BLOCK_WORDS, ClockMode, EMPTYING, block as at};
use trace_format::{ids, word};

use crate::sync::{Ordering, fence};
use crate::time::fold::ALL_FINAL;

/// The memory of a block. All accesses are relaxed: order comes from the fences here. Offsets are those of
/// [`trace_format::layout::block`].
pub(crate) trait BlockMemory {
    /// Words that it has room for.
    const WORDS: usize;
    /// A header field of 32 bits.
    fn load_u32(&self, offset: usize) -> u32;
    /// Stores a header field of 32 bits.
    fn store_u32(&self, offset: usize, value: u32);
    /// A header field of 64 bits; may be torn.
    fn load_u64(&self, offset: usize) -> u64;
    /// Stores a header field of 64 bits; a kill may tear it.
    fn store_u64(&self, offset: usize, value: u64);
    /// The word at `index`; may be torn.
    fn load_word(&self, index: usize) -> u64;
    /// Stores the word at `index`; a kill may tear it.
    fn store_word(&self, index: usize, value: u64);
}

/// The header of a block for one of its lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    /// The writing thread.
    pub(crate) uid: u32,
    /// Its kernel id.
    pub(crate) tid: u32,
    /// The block's number in its thread, from 0.
    pub(crate) sequence: u64,
    /// CLOCK_BOOTTIME ns at its opening.
    pub(crate) t0: u64,
    /// Words that the thread wrote in earlier blocks.
    pub(crate) base: u64,
    /// How times are taken.
    pub(crate) mode: ClockMode,
}

/// Whether stores of one thread become visible to others in their order.
const IN_ORDER: bool = cfg!(any(target_arch = "x86_64", target_arch = "x86")) && !cfg!(loom);

/// Starts a life. Only the block's writer may call it.
pub(crate) fn open<B: BlockMemory>(block: &B, life: &Life) {
    // A thread that sees the block being emptied sees that it was handed out.
    fence(Ordering::Release);
    // Before its header changes: no reader trusts a header above this head.
    block.store_u32(at::HEAD, EMPTYING);
    fence(Ordering::Release);
    if life.mode == ClockMode::Coarse {
        prepare(block);
    }
    block.store_u64(at::SEQUENCE, life.sequence);
    block.store_u32(at::UID, life.uid);
    block.store_u32(at::TID, life.tid);
    block.store_u32(at::CLOCK_MODE, life.mode as u32);
    block.store_u64(at::T0, life.t0);
    block.store_u64(at::BASE, life.base);
    block.store_u32(at::FLOOR, 0);
    fence(Ordering::Release);
    block.store_u32(at::HEAD, 0);
    fence(Ordering::Release);
}

/// From here on no word below `head` is retracted. Only the block's writer may call it.
#[inline]
pub(crate) fn settle(block: &impl BlockMemory, head: usize) {
    fence(Ordering::Release);
    block.store_u32(at::FLOOR, head as u32);
}

/// Retracts the last of `head` published words; returns the new head. Only the block's writer may call it,
/// above the floor.
#[inline]
pub(crate) fn retract_word(block: &impl BlockMemory, head: usize, mode: ClockMode) -> usize {
    let head = head - 1;
    block.store_u32(at::HEAD, head as u32);
    if mode == ClockMode::Coarse {
        // Else it would be found behind the head. It is, as if the call went on, by the reader of a file
        // whose writer was killed here. A 0 below the head would be damage.
        fence(Ordering::Release);
        block.store_word(head, 0);
    }
    head
}

/// Prepares a block for words of Java.
fn prepare<B: BlockMemory>(block: &B) {
    let words = if IN_ORDER { 1 } else { B::WORDS };
    (0..words).for_each(|index| block.store_word(index, 0));
}

/// As [`publish`], into a block in which Java may continue, with room for one more word.
pub(crate) fn publish_before_java(
    block: &impl BlockMemory,
    head: usize,
    first: u64,
    payload: &[u64],
) -> usize {
    block.store_word(head + 1 + payload.len(), 0);
    // Java's words come without a fence: for a kill, and for machines that keep the order.
    compiler_fence(Ordering::Release);
    publish(block, head, first, payload)
}

/// Publishes what Java wrote below `head`. Only the block's writer may call it.
pub(crate) fn publish_until(block: &impl BlockMemory, head: usize) {
    fence(Ordering::Release);
    block.store_u32(at::HEAD, head as u32);
}

/// How many words the block has, if `head` are published and Java may have written more.
pub(crate) fn end<B: BlockMemory>(block: &B, head: usize) -> usize {
    let is_plain = |index: &usize| {
        let word = block.load_word(*index);
        // Where the CPU keeps the order, so must the compiler.
        compiler_fence(Ordering::Acquire);
        ids::is_plain(word::id(word))
    };
    head + (head..B::WORDS).take_while(is_plain).count()
}

/// Stores the words of one event behind the first `head` and publishes them; returns the new head. Only the
/// block's writer may call it.
#[inline]
pub(crate) fn publish(block: &impl BlockMemory, head: usize, first: u64, payload: &[u64]) -> usize {
    block.store_word(head, first);
    for (i, &word) in payload.iter().enumerate() {
        block.store_word(head + 1 + i, word);
    }
    let head = head + 1 + payload.len();
    // The words before the head: what is found below it is complete.
    fence(Ordering::Release);
    block.store_u32(at::HEAD, head as u32);
    head
}

/// Copies the words of `from`, beside its writer or on its thread, to `to`, which no other thread writes to.
/// What is there of the same life stays there all the time, except for its last word, which may have been
/// retracted since. Returns whether there is something. For `horizon` see [`copy`].
pub(crate) fn transfer(from: &RawBlock, to: &RawBlock, horizon: u64) -> bool {
    let sequence = from.load_u64(at::SEQUENCE);
    fence(Ordering::Acquire);
    let (short, long) = ([at::UID, at::TID, at::CLOCK_MODE], [at::SEQUENCE, at::T0, at::BASE]);
    let same = short.iter().all(|&field| from.load_u32(field) == to.load_u32(field))
        && long.iter().all(|&field| from.load_u64(field) == to.load_u64(field));
    let mut there = to.load_u32(at::HEAD) as usize;
    if !same || there > BLOCK_WORDS {
        there = 0;
        to.store_u32(at::HEAD, EMPTYING);
        fence(Ordering::Release);
        prepare(to);
        for field in short {
            to.store_u32(field, from.load_u32(field));
        }
        for field in long {
            to.store_u64(field, from.load_u64(field));
        }
        to.store_u32(at::FLOOR, 0);
        fence(Ordering::Release);
        to.store_u32(at::HEAD, 0);
        fence(Ordering::Release);
    }
    // The fields are of this life if it is still `sequence` afterwards: they are stored after it, before the
    // first word is published.
    let seen = read(from, sequence, horizon, |index, word| {
        if index + 1 < there {
            return;
        }
        if index + 1 < BLOCK_WORDS {
            to.store_word(index + 1, 0);
        }
        // A kill in between finds the 0.
        compiler_fence(Ordering::Release);
        to.store_word(index, word);
    });
    let Observed::There(extent) = seen else { return false };
    fence(Ordering::Release);
    to.store_u32(at::HEAD, extent.head as u32);
    if extent.head < there {
        // Retracted, and nothing in its place: else it would be found behind the head.
        to.store_word(extent.head, 0);
    }
    to.store_u32(at::FLOOR, extent.head as u32);
    true
}

/// What a reader found of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Observed<T> {
    /// It is there.
    There(T),
    /// It has not begun, or nothing is published of it.
    NotYet,
    /// Over: its words are being overwritten.
    Gone,
}

/// The extent of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// Words in it; not 0.
    pub(crate) head: usize,
    /// Words written before it.
    pub(crate) base: u64,
    /// When it was opened, BOOTTIME ns.
    pub(crate) t0: u64,
}

/// How many final words there are of the block's life `sequence`. For `horizon` see [`copy`].
#[inline]
pub(crate) fn extent(block: &impl BlockMemory, sequence: u64, horizon: u64) -> Observed<Extent> {
    read(block, sequence, horizon, |_, _| ())
}

/// Appends to `words` the final words of the block's life `sequence`; appends nothing unless the life is
/// there. Words that are older than `horizon` (BOOTTIME ns) are not retracted any more; [`ALL_FINAL`] if no
/// word is ever retracted, as for the writer itself.
pub(crate) fn copy(
    block: &impl BlockMemory,
    sequence: u64,
    horizon: u64,
    words: &mut Vec<u64>,
) -> Observed<Extent> {
    let start = words.len();
    let seen = read(block, sequence, horizon, |_, word| words.push(word));
    if !matches!(seen, Observed::There(_)) {
        words.truncate(start);
    }
    seen
}

/// Calls `take` with each final word and its index, from the first one on.
#[inline]
fn read<B: BlockMemory>(
    block: &B,
    sequence: u64,
    horizon: u64,
    mut take: impl FnMut(usize, u64),
) -> Observed<Extent> {
    let before = block.load_u64(at::SEQUENCE);
    fence(Ordering::Acquire);
    let published = block.load_u32(at::HEAD);
    fence(Ordering::Acquire);
    if before != sequence {
        return if before < sequence { Observed::NotYet } else { Observed::Gone };
    }
    if published == EMPTYING {
        // For this life, or for the next one, whose sequence is on its way. The caller knows by the count of
        // blocks handed out which of the two.
        return Observed::NotYet;
    }
    let published = published as usize;
    if published > B::WORDS {
        // Not stored by a writer: if the memory was overwritten, nothing beyond the block is read.
        return Observed::Gone;
    }
    let floor = (block.load_u32(at::FLOOR) as usize).min(published);
    // What is found below the floor is no older than what it was raised over.
    fence(Ordering::Acquire);
    let coarse = block.load_u32(at::CLOCK_MODE) == ClockMode::Coarse as u32;
    let (base, t0) = (block.load_u64(at::BASE), block.load_u64(at::T0));
    (0..floor).for_each(|index| take(index, block.load_word(index)));
    let is_final = |word: u64| match coarse {
        _ if horizon == ALL_FINAL => true,
        true => word & word::TIME_MASK < horizon.saturating_sub(t0),
        // Cyclic there, and never half a turn away from now except in a thread that was idle for an hour.
        false => {
            horizon.wrapping_sub(t0).wrapping_sub(word).wrapping_sub(1) & word::TIME_MASK < word::MAX_GAP
        }
    };
    let mut head = floor;
    while head < B::WORDS {
        let word = block.load_word(head);
        // Where the CPU keeps the order, so must the compiler.
        compiler_fence(Ordering::Acquire);
        // A word that is being retracted may be 0 already, though it was published.
        let is_there = ids::is_plain(word::id(word)) && (head < published || coarse);
        if !is_there || !is_final(word) {
            break;
        }
        take(head, word);
        head += 1;
    }
    fence(Ordering::Acquire);
    let after = block.load_u32(at::HEAD);
    fence(Ordering::Acquire);
    if after == EMPTYING || (after as usize) < floor || block.load_u64(at::SEQUENCE) != sequence {
        return Observed::Gone;
    }
    if head == 0 { Observed::NotYet } else { Observed::There(Extent { head, base, t0 }) }
}

/// A block of the mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawBlock(NonNull<u8>);

// SAFETY: it is only an address; `BlockMemory`'s atomics rule what may be done there at the same time.
unsafe impl Send for RawBlock {}
// SAFETY: as above.
unsafe impl Sync for RawBlock {}

impl RawBlock {
    /// The block at `start`.
    ///
    /// # Safety
    /// A block's length from `start`, which is a multiple of 8, must be memory that is never freed and only
    /// accessed through atomics while this is used.
    pub(crate) const unsafe fn new(start: NonNull<u8>) -> Self {
        Self(start)
    }

    /// Its address.
    pub(crate) const fn start(self) -> NonNull<u8> {
        self.0
    }

    /// The 32-bit field at `offset`.
    ///
    /// # Safety
    /// `offset` must be a multiple of 4 below [`BLOCK_LEN`].
    #[inline]
    unsafe fn u32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: inside of the block and aligned, as the caller and that of `new` have promised.
        unsafe { AtomicU32::from_ptr(self.0.add(offset).cast().as_ptr()) }
    }

    /// The 64-bit field at `offset`.
    ///
    /// # Safety
    /// `offset` must be a multiple of 8 below [`BLOCK_LEN`].
    #[inline]
    unsafe fn u64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as for `u32`.
        unsafe { AtomicU64::from_ptr(self.0.add(offset).cast().as_ptr()) }
    }
}

/// Panics unless a field of `length` bytes, a power of two, may be at `offset`. Offsets of header fields are constants:
/// there it costs nothing.
#[inline]
fn check_offset(offset: usize, length: usize) {
    if offset >= BLOCK_LEN || !offset.is_multiple_of(length) {
        outside();
    }
}

#[cold]
#[inline(never)]
fn outside() -> ! {
    panic!("outside of a block")
}

impl BlockMemory for RawBlock {
    const WORDS: usize = BLOCK_WORDS;

    #[inline]
    fn load_u32(&self, offset: usize) -> u32 {
        check_offset(offset, 4);
        // SAFETY: just checked.
        unsafe { self.u32(offset) }.load(Ordering::Relaxed)
    }

    #[inline]
    fn store_u32(&self, offset: usize, value: u32) {
        check_offset(offset, 4);
        // SAFETY: just checked.
        unsafe { self.u32(offset) }.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn load_u64(&self, offset: usize) -> u64 {
        if cfg!(target_pointer_width = "64") {
            check_offset(offset, 8);
            // SAFETY: just checked.
            unsafe { self.u64(offset) }.load(Ordering::Relaxed)
        } else {
            // One instruction would need a lock or a helper on some of these machines, and the writer in Java
            // uses two stores anyway.
            u64::from(self.load_u32(offset)) | u64::from(self.load_u32(offset + 4)) << 32
        }
    }

    #[inline]
    fn store_u64(&self, offset: usize, value: u64) {
        if cfg!(target_pointer_width = "64") {
            check_offset(offset, 8);
            // SAFETY: just checked.
            unsafe { self.u64(offset) }.store(value, Ordering::Relaxed);
        } else {
            self.store_u32(offset, value as u32);
            self.store_u32(offset + 4, (value >> 32) as u32);
        }
    }

    // A writer has compared its head with `BLOCK_WORDS` before: what is inlined there checks nothing twice.
    #[inline]
    fn load_word(&self, index: usize) -> u64 {
        if index >= BLOCK_WORDS {
            outside();
        }
        self.load_u64(at::WORDS + index * 8)
    }

    #[inline]
    fn store_word(&self, index: usize, value: u64) {
        if index >= BLOCK_WORDS {
            outside();
        }
        self.store_u64(at::WORDS + index * 8, value);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
