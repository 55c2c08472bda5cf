//! A block's two sides: the writer that fills it and empties it for its next life, and whoever copies it
//! out meanwhile. Neither waits for the other.
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
//! It accepts if both loads of `sequence` gave the life it asked for, and the second head is neither EMPTYING nor below
//! `h`.
//! * `h` is of this life or a later one: the sequence it saw was stored behind the fence behind `head = EMPTYING`.
//! * What it read below `h` is no older than what `h` published (fence before the store of the head, fence
//!   after its load).
//! * Nothing it read is of a later life. If one word were, the fences order that life's `head = EMPTYING` before the
//!   second load of the head: it gives that, which is refused, or a head that the later life stored,
//!   and then the last load of `sequence` sees the later sequence, which is refused.
//!
//! # What Java writes
//! In coarse mode Java stores methods' words behind the head, one after the other, and nobody moves the head until the
//! native writer takes the pen back. So a word that is 0 stands behind the last one: with every word, its writer stores
//! a 0 behind it *first*; no method's word is 0. A reader of a coarse block goes on from the head as long as it
//! finds methods' words ([`end`]). What it counts in that way are words of this life:
//! * after a kill, because every store before the kill is there and none after it: the 0 was stored before
//!   the word before it;
//! * beside the writer, if stores become visible in their order, as on x86: whoever sees a word sees the 0 behind it, or what
//!   the same life has put there since. Elsewhere, where Java stores without a fence, [`open`] stores 0 in *all* words
//!   before `head = 0`: then whatever is found behind the head that is not 0 is of this life. That some word
//!   may become visible before the one in front of it does no harm: the reader stops in front of both.
//! * Typed events are the native writer's, which publishes them by the head, payload and all: a reader that goes on
//!   from an older head stops in front of them.
//! * On 32-bit machines Java does not write, and a native word's lower half is stored first: torn, it has no id.
//!
//! A head of 0 and a first word of 0 say that there is nothing to copy yet.
//!
//! # Words that are taken back
//! A call that was so short that it is left out takes its enter back: that was the last word, and the writer, in Java or native, stores
//! a 0 there, or a smaller head, and goes on in its place. So the last words of a block are not final. Three things bound which:
//! * `floor`: no word below it is ever taken back. The native writer raises it for each of its own events before it publishes that, and when it leaves the block,
//!   and Java takes back only what it wrote since it was lent the pen, which is behind the head. From the floor on there are methods' words
//!   alone.
//! * An enter is taken back only by an exit that comes within the length of a short call, by the clock that words are written with. So
//!   whoever looks at that clock later on leaves a word that is older than that length and two ticks where it is.
//! * But for one: a thread that was stopped between its look at the last word and its store changes that word when it goes on, after however
//!   long, or appends one with an old time. It does so once, and what it writes next has a new time.
//!
//! A copy takes the words below the floor as above, and from there on one after the other those that are older than the *horizon*
//! ([`Ring::horizon`](crate::memory::ring::Ring::horizon)). What it has is what was there when it looked at the last one that it took: of the words in front
//! of that one none has changed since it looked at them, because the only old word that may change was the last one of all, and behind it
//! come only words with a new time, in front of which the copy stops. So it leaves out what happened in the last two ticks, as a rule.
//!
//! The last word of a copy may be taken back later by such a thread. Whoever goes on behind a copy looks whether it is still
//! there.
//!
//! After a kill the block is whole: Java takes a word back with one store; the native writer lowers the head first, and a word that is still found behind it is
//! a call that has not ended.
//!
//! # 32-bit machines
//! A 64-bit word is stored and loaded as two halves there, so every 64-bit field can be seen torn. Words, `t0`
//! and `base` never change between the fence that publishes them and the next life: torn ones are either
//! above the head or of a later life, and refused as above. A torn `sequence` mixes the halves of two lives,
//! which differ in the upper one only once in 2^32 blocks, four thousand thousand million words.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};

use trace_format::layout::{BLOCK_WORDS, ClockMode, EMPTYING, block as at};
use trace_format::{ids, word};

use crate::sync::{Ordering, fence};
use crate::time::fold::ALL_FINAL;

/// The memory of a block. All accesses are relaxed: order comes from the fences here. Offsets are those of
/// [`trace_format::layout::block`].
pub(crate) trait BlockMemory {
    /// Words it has room for.
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

/// What a block's header says for one of its lives.
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

/// Begins a life. Only the block's writer may call it.
pub(crate) fn open<B: BlockMemory>(block: &B, life: &Life) {
    // Whoever sees the block being emptied sees that it was handed out.
    fence(Ordering::Release);
    // Before its header changes: nobody believes a header above this head.
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

/// No word below the `head` is taken back from here on. Only the block's writer may call it.
#[inline]
pub(crate) fn settle(block: &impl BlockMemory, head: usize) {
    fence(Ordering::Release);
    block.store_u32(at::FLOOR, head as u32);
}

/// Takes the last of `head` published words back; gives the new head. Only the block's writer may call it, above the floor.
#[inline]
pub(crate) fn take_back_word(block: &impl BlockMemory, head: usize, mode: ClockMode) -> usize {
    let head = head - 1;
    block.store_u32(at::HEAD, head as u32);
    if mode == ClockMode::Coarse {
        // Else it would be found behind the head; and it is, as if the call went on, by the reader of a file whose writer was killed here. A 0 below
        // the head would be damage.
        fence(Ordering::Release);
        block.store_word(head, 0);
    }
    head
}

/// Makes a block one that Java may write to.
fn prepare<B: BlockMemory>(block: &B) {
    let words = if IN_ORDER { 1 } else { B::WORDS };
    (0..words).for_each(|index| block.store_word(index, 0));
}

/// As [`publish`], into a block that Java may go on writing to, with room for one word more.
pub(crate) fn publish_before_java(
    block: &impl BlockMemory,
    head: usize,
    first: u64,
    payload: &[u64],
) -> usize {
    block.store_word(head + 1 + payload.len(), 0);
    // Java's words come without a fence: for the one that is killed and for machines that keep the order.
    compiler_fence(Ordering::Release);
    publish(block, head, first, payload)
}

/// Publishes what Java has written up to `head`. Only the block's writer may call it.
pub(crate) fn publish_until(block: &impl BlockMemory, head: usize) {
    fence(Ordering::Release);
    block.store_u32(at::HEAD, head as u32);
}

/// How many words there are from the first on, if `head` are published and Java may have written more.
pub(crate) fn end<B: BlockMemory>(block: &B, head: usize) -> usize {
    let is_method = |index: &usize| {
        let word = block.load_word(*index);
        // Where the processor keeps the order, so must the compiler.
        compiler_fence(Ordering::Acquire);
        ids::is_method(word::id(word))
    };
    head + (head..B::WORDS).take_while(is_method).count()
}

/// Stores the words of one event behind the first `head` and publishes them; gives the new head. Only the
/// block's writer may call it, with room for all of them.
#[inline]
pub(crate) fn publish(block: &impl BlockMemory, head: usize, first: u64, payload: &[u64]) -> usize {
    block.store_word(head, first);
    for (i, &word) in payload.iter().enumerate() {
        block.store_word(head + 1 + i, word);
    }
    let head = head + 1 + payload.len();
    // The words before the head: what is found below it is whole.
    fence(Ordering::Release);
    block.store_u32(at::HEAD, head as u32);
    head
}

/// Copies what there is of `from`, beside its writer or by it, to `to`, which nobody else writes to. What is
/// already there of the same life stays there all the time, but for its last word, which may have been taken back since. Gives whether something is. For
/// `horizon` see [`copy`].
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
    // The fields are those of this life if it is still `sequence` afterwards: they are stored behind it, before
    // the first word is published.
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
    let Seen::There(extent) = seen else { return false };
    fence(Ordering::Release);
    to.store_u32(at::HEAD, extent.head as u32);
    if extent.head < there {
        // Taken back, and nothing in its place: else it would be found behind the head.
        to.store_word(extent.head, 0);
    }
    to.store_u32(at::FLOOR, extent.head as u32);
    true
}

/// What became of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen<T> {
    /// It is there.
    There(T),
    /// It has not begun, or nothing is published of it.
    NotYet,
    /// Over: its words are being overwritten.
    Gone,
}

/// The head and base of a life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// Words in it; not 0.
    pub(crate) head: usize,
    /// Words written before it.
    pub(crate) base: u64,
    /// When it was opened, BOOTTIME ns.
    pub(crate) t0: u64,
}

/// How much is there of the block's life `sequence` that is final. For `horizon` see [`copy`].
#[inline]
pub(crate) fn look(block: &impl BlockMemory, sequence: u64, horizon: u64) -> Seen<Extent> {
    read(block, sequence, horizon, |_, _| ())
}

/// Appends to `words` what is there of the block's life `sequence` and is final; appends nothing unless it is there. Nothing that is older than
/// `horizon` (BOOTTIME ns) may be taken back any more; [`ALL_FINAL`] if nothing is at all, as for the writer itself.
pub(crate) fn copy(
    block: &impl BlockMemory,
    sequence: u64,
    horizon: u64,
    words: &mut Vec<u64>,
) -> Seen<Extent> {
    let start = words.len();
    let seen = read(block, sequence, horizon, |_, word| words.push(word));
    if !matches!(seen, Seen::There(_)) {
        words.truncate(start);
    }
    seen
}

/// Calls `take` with each word that is final and its index, from the first one on.
#[inline]
fn read<B: BlockMemory>(
    block: &B,
    sequence: u64,
    horizon: u64,
    mut take: impl FnMut(usize, u64),
) -> Seen<Extent> {
    let before = block.load_u64(at::SEQUENCE);
    fence(Ordering::Acquire);
    let published = block.load_u32(at::HEAD);
    fence(Ordering::Acquire);
    if before != sequence {
        return if before < sequence { Seen::NotYet } else { Seen::Gone };
    }
    if published == EMPTYING {
        // For this life, or for the next one, whose sequence is on its way. Whoever asks
        // knows by the count of blocks handed out which of the two.
        return Seen::NotYet;
    }
    let published = published as usize;
    if published > B::WORDS {
        // No writer of ours: whoever wrote into our memory, nothing beyond the block is read.
        return Seen::Gone;
    }
    let floor = (block.load_u32(at::FLOOR) as usize).min(published);
    // What is found below it is no older than what it was raised over.
    fence(Ordering::Acquire);
    let coarse = block.load_u32(at::CLOCK_MODE) == ClockMode::Coarse as u32;
    let (base, t0) = (block.load_u64(at::BASE), block.load_u64(at::T0));
    (0..floor).for_each(|index| take(index, block.load_word(index)));
    let is_final = |word: u64| match coarse {
        _ if horizon == ALL_FINAL => true,
        true => word & word::TIME_MASK < horizon.saturating_sub(t0),
        // Cyclic there, and never half a turn away from now but in a thread that has done nothing for an hour.
        false => {
            horizon.wrapping_sub(t0).wrapping_sub(word).wrapping_sub(1) & word::TIME_MASK < word::MAX_GAP
        }
    };
    let mut head = floor;
    while head < B::WORDS {
        let word = block.load_word(head);
        // Where the processor keeps the order, so must the compiler.
        compiler_fence(Ordering::Acquire);
        // A word that is taken back just now may be 0 already, though it was published.
        let is_there = ids::is_method(word::id(word)) && (head < published || coarse);
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
        return Seen::Gone;
    }
    if head == 0 { Seen::NotYet } else { Seen::There(Extent { head, base, t0 }) }
}

/// A block of the mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawBlock(NonNull<u8>);

// SAFETY: it is only a place; what may be done there at the same time is ruled by `BlockMemory`'s atomics.
unsafe impl Send for RawBlock {}
// SAFETY: as above.
unsafe impl Sync for RawBlock {}

impl RawBlock {
    /// The block at `start`.
    ///
    /// # Safety
    /// A block's length from `start`, which is a multiple of 8, must be memory that is never freed and only
    /// reached through atomics while this is used.
    pub(crate) const unsafe fn new(start: NonNull<u8>) -> Self {
        Self(start)
    }

    /// Where it is.
    pub(crate) const fn start(self) -> NonNull<u8> {
        self.0
    }

    #[inline]
    fn u32(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset < trace_format::layout::BLOCK_LEN && offset.is_multiple_of(4));
        // SAFETY: inside of the block and aligned, as `new` was promised and offsets are constants or follow
        // from an index below `WORDS`.
        unsafe { AtomicU32::from_ptr(self.0.add(offset).cast().as_ptr()) }
    }

    #[inline]
    fn u64(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset < trace_format::layout::BLOCK_LEN && offset.is_multiple_of(8));
        // SAFETY: as for `u32`.
        unsafe { AtomicU64::from_ptr(self.0.add(offset).cast().as_ptr()) }
    }
}

impl BlockMemory for RawBlock {
    const WORDS: usize = BLOCK_WORDS;

    #[inline]
    fn load_u32(&self, offset: usize) -> u32 {
        self.u32(offset).load(Ordering::Relaxed)
    }

    #[inline]
    fn store_u32(&self, offset: usize, value: u32) {
        self.u32(offset).store(value, Ordering::Relaxed);
    }

    #[inline]
    fn load_u64(&self, offset: usize) -> u64 {
        if cfg!(target_pointer_width = "64") {
            self.u64(offset).load(Ordering::Relaxed)
        } else {
            // One instruction would need a lock or a helper on some of these machines, and the writer in Java
            // uses two stores anyway.
            u64::from(self.load_u32(offset)) | u64::from(self.load_u32(offset + 4)) << 32
        }
    }

    #[inline]
    fn store_u64(&self, offset: usize, value: u64) {
        if cfg!(target_pointer_width = "64") {
            self.u64(offset).store(value, Ordering::Relaxed);
        } else {
            self.store_u32(offset, value as u32);
            self.store_u32(offset + 4, (value >> 32) as u32);
        }
    }

    #[inline]
    fn load_word(&self, index: usize) -> u64 {
        assert!(index < BLOCK_WORDS);
        self.load_u64(at::WORDS + index * 8)
    }

    #[inline]
    fn store_word(&self, index: usize, value: u64) {
        debug_assert!(index < BLOCK_WORDS);
        self.store_u64(at::WORDS + index * 8, value);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
