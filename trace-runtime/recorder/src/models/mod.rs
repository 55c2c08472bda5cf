//! Models of the recorder's protocols for loom, which runs every order that C11 memory allows.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p anrscope-recorder --release --lib loom_
//! ```
//! The code under test is the recorder's own ([`block`], [`Ring`], [`Pool`], [`Gate`] and the time word), whose atomics
//! [`crate::sync`] takes from loom; blocks have two words. Each model has a twin in which one step is left out, and which must fail.

mod gate;
mod time_word;

use std::collections::BTreeMap;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use loom::thread;
use trace_format::layout::{ClockMode, EMPTYING, block as at};
use trace_format::word;

use crate::gate::Gate;
use crate::memory::block::{self, BlockMemory, Life, Observed};
use crate::memory::mark::{Mark, Overwritten};
use crate::memory::pool::{Handed, Pool};
use crate::memory::ring::Ring;
use crate::memory::slice::Slice;
use crate::time::fold;

const WORDS: usize = 2;

/// A block of two words.
#[derive(Debug)]
struct ModelBlock {
    head: AtomicU32,
    uid: AtomicU32,
    mode: AtomicU32,
    floor: AtomicU32,
    sequence: AtomicU64,
    t0: AtomicU64,
    base: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl ModelBlock {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            head: AtomicU32::new(0),
            uid: AtomicU32::new(0),
            mode: AtomicU32::new(0),
            floor: AtomicU32::new(0),
            sequence: zero(),
            t0: zero(),
            base: zero(),
            words: [zero(), zero()],
        }
    }

    fn field(&self, offset: usize) -> &AtomicU64 {
        match offset {
            at::SEQUENCE => &self.sequence,
            at::T0 => &self.t0,
            at::BASE => &self.base,
            _ => unreachable!("no such field: {offset}"),
        }
    }
}

impl BlockMemory for &ModelBlock {
    const WORDS: usize = WORDS;

    fn load_u32(&self, offset: usize) -> u32 {
        match offset {
            at::HEAD => self.head.load(Ordering::Relaxed),
            at::CLOCK_MODE => self.mode.load(Ordering::Relaxed),
            at::FLOOR => self.floor.load(Ordering::Relaxed),
            _ => unreachable!("no such field: {offset}"),
        }
    }

    fn store_u32(&self, offset: usize, value: u32) {
        match offset {
            at::HEAD => self.head.store(value, Ordering::Relaxed),
            at::UID => self.uid.store(value, Ordering::Relaxed),
            at::CLOCK_MODE => self.mode.store(value, Ordering::Relaxed),
            at::FLOOR => self.floor.store(value, Ordering::Relaxed),
            // No concurrent reader loads this.
            at::TID => {}
            _ => unreachable!("no such field: {offset}"),
        }
    }

    fn load_u64(&self, offset: usize) -> u64 {
        self.field(offset).load(Ordering::Relaxed)
    }

    fn store_u64(&self, offset: usize, value: u64) {
        self.field(offset).store(value, Ordering::Relaxed);
    }

    fn load_word(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    fn store_word(&self, index: usize, value: u64) {
        self.words[index].store(value, Ordering::Relaxed);
    }
}

/// Which step is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// The head is stored without a fence before it.
    PublishFence,
    /// The block is not emptied before its header changes.
    EmptyFirst,
    /// The copier checks whether the mark is valid, and copies then.
    SecondCheck,
    /// The pool gives a block away as it is.
    PoolEmpties,
    /// Words of an earlier life are left in a coarse block.
    Zeros,
    /// The copier takes words that may be taken back.
    Horizon,
    /// The native writer leaves the floor where it is.
    Floor,
}

/// What a thread does to its blocks, as `Writer` does it.
#[derive(Debug)]
struct ModelWriter {
    uid: u32,
    sequence: u64,
    base: u64,
    head: usize,
}

impl ModelWriter {
    fn life(&self, sequence: u64) -> Life {
        let mode = ClockMode::Precise;
        Life { uid: self.uid, tid: 0, sequence, t0: 0, base: self.base, mode }
    }

    /// A word that says where in its thread it is.
    fn word(&self) -> u64 {
        word_at(self.base + self.head as u64)
    }
}

fn word_at(position: u64) -> u64 {
    word::pack(true, 1 + position as u32, 0)
}

/// A ring of two blocks.
#[derive(Debug)]
struct ModelRing {
    blocks: [ModelBlock; 2],
    opened: AtomicU64,
}

impl ModelRing {
    fn new() -> Self {
        Self { blocks: [ModelBlock::new(), ModelBlock::new()], opened: AtomicU64::new(0) }
    }

    fn write(&self, writer: &mut ModelWriter, broken: Broken) {
        let mut opened = self.opened.load(Ordering::Relaxed);
        if opened == 0 || writer.head == WORDS {
            writer.base += writer.head as u64;
            writer.head = 0;
            opened += 1;
            self.opened.store(opened, Ordering::Release);
            let block = &self.blocks[(opened - 1) as usize % 2];
            if broken == Broken::EmptyFirst {
                block.sequence.store(opened - 1, Ordering::Relaxed);
                block.base.store(writer.base, Ordering::Relaxed);
            } else {
                block::open(&block, &writer.life(opened - 1));
            }
        }
        let block = &self.blocks[(opened - 1) as usize % 2];
        if broken == Broken::PublishFence {
            block.words[writer.head].store(writer.word(), Ordering::Relaxed);
            writer.head += 1;
            block.head.store(writer.head as u32, Ordering::Relaxed);
        } else {
            writer.head = block::publish(&block, writer.head, writer.word(), &[]);
        }
    }
}

impl<'a> Ring for &'a ModelRing {
    type Block = &'a ModelBlock;

    fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    fn length(&self) -> u64 {
        2
    }

    fn horizon(&self) -> u64 {
        fold::ALL_FINAL
    }

    fn block(&self, sequence: u64) -> &'a ModelBlock {
        &self.blocks[sequence as usize % 2]
    }
}

/// The words of a slice must be those that were written from `from` on, in order, up to at least `to`.
fn check(slice: &Slice, from: u64, to: u64) {
    let words: Vec<_> = slice.events().map(|(_, event)| event).collect();
    let wanted: Vec<_> = (from..from + words.len() as u64)
        .map(|position| trace_format::Event::Enter(word::id(word_at(position))))
        .collect();
    assert_eq!(words, wanted);
    assert!(from + words.len() as u64 >= to, "ends before {to}");
}

impl ModelRing {
    /// As Java writes, one word a block: the 0 behind the word, the word, and neither a fence nor a head until the native
    /// writer reclaims the position for the next block.
    fn write_in_java(&self, writer: &mut ModelWriter, broken: Broken) {
        let opened = self.opened.load(Ordering::Relaxed);
        if opened > 0 {
            let block = &self.blocks[(opened - 1) as usize % 2];
            block::publish_until(&block, block::end(&block, 0));
            writer.base += 1;
        }
        self.opened.store(opened + 1, Ordering::Release);
        let block = &self.blocks[opened as usize % 2];
        let life = Life { mode: ClockMode::Coarse, ..writer.life(opened) };
        if broken == Broken::Zeros {
            block::open(&block, &Life { mode: ClockMode::Precise, ..life });
            block.mode.store(ClockMode::Coarse as u32, Ordering::Relaxed);
        } else {
            block::open(&block, &life);
        }
        block.words[1].store(0, Ordering::Relaxed);
        block.words[0].store(word_at(writer.base), Ordering::Relaxed);
    }
}

/// As [`copy_beside_writer`], with words that Java writes.
fn copy_beside_java(before: usize, during: usize, broken: Broken) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let ring = Arc::new(ModelRing::new());
        let mut writer = ModelWriter { uid: 1, sequence: 0, base: 0, head: 0 };
        (0..before).for_each(|_| ring.write_in_java(&mut writer, Broken::Nothing));
        let mark = (&*ring).mark().expect("the writer stands still");
        assert_eq!(mark.position(), before as u64);
        ring.write_in_java(&mut writer, broken);
        let copier = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || copy(&&*ring, &mark, before as u64, broken))
        };
        (0..during).for_each(|_| ring.write_in_java(&mut writer, broken));
        copier.join().unwrap();
        let overwritten = writer.base + 1 > before as u64 + 2;
        assert!(!(overwritten && (&&*ring).is_valid(&mark)), "valid over overwritten words");
    });
}

#[test]
fn loom_a_copy_beside_java_is_right_or_refused() {
    copy_beside_java(1, 1, Broken::Nothing);
    copy_beside_java(0, 2, Broken::Nothing);
}

#[test]
#[should_panic]
fn loom_without_zeros_in_a_coarse_block_a_copy_goes_wrong() {
    copy_beside_java(1, 1, Broken::Zeros);
}

/// Java enters 1 and leaves it, which retracts the enter if no tick is in between, enters 2 and 3 and stays there. Time goes on meanwhile,
/// and a copier takes what it finds.
fn copy_beside_short_calls(broken: Broken) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let block = Arc::new(ModelBlock::new());
        let clock = Arc::new(AtomicU64::new(10));
        block::open(
            &&*block,
            &Life {
                mode: ClockMode::Coarse,
                ..ModelWriter { uid: 1, sequence: 0, base: 0, head: 0 }.life(0)
            },
        );
        let writer = {
            let (block, clock) = (Arc::clone(&block), Arc::clone(&clock));
            thread::spawn(move || {
                let now = || {
                    // Replaces the ticks that pass until a word is old enough to be copied: what was stored before is visible by then.
                    fence(Ordering::SeqCst);
                    clock.load(Ordering::SeqCst)
                };
                let store = |index: usize, word| {
                    // The last word of all has nothing behind it here.
                    if index + 1 < WORDS {
                        block.words[index + 1].store(0, Ordering::Relaxed);
                    }
                    block.words[index].store(word, Ordering::Relaxed);
                };
                let begun = now();
                store(0, word::pack(true, 1, begun));
                let ended = now();
                if begun != ended {
                    store(1, word::pack(false, 1, ended));
                    return;
                }
                block.words[0].store(0, Ordering::Relaxed);
                store(0, word::pack(true, 2, now()));
                store(1, word::pack(true, 3, now()));
            })
        };
        let copier = {
            let (block, clock) = (Arc::clone(&block), Arc::clone(&clock));
            thread::spawn(move || {
                let horizon = match broken {
                    Broken::Horizon => fold::ALL_FINAL,
                    // Two ticks behind.
                    _ => clock.load(Ordering::SeqCst) - 1,
                };
                fence(Ordering::SeqCst);
                let mut words = Vec::new();
                block::copy(&&*block, 0, horizon, &mut words);
                let ids: Vec<_> = words.iter().map(|word| (word::is_begin(*word), word::id(*word))).collect();
                let whole: [&[(bool, u32)]; 5] =
                    [&[], &[(true, 1)], &[(true, 1), (false, 1)], &[(true, 2)], &[(true, 2), (true, 3)]];
                assert!(whole.contains(&&ids[..]), "{ids:?}");
            })
        };
        for tick in 11..=13 {
            clock.store(tick, Ordering::SeqCst);
        }
        writer.join().unwrap();
        copier.join().unwrap();
    });
}

#[test]
fn loom_a_copy_beside_short_calls_has_what_was_there() {
    copy_beside_short_calls(Broken::Nothing);
}

#[test]
#[should_panic]
fn loom_a_copy_of_words_that_may_be_taken_back_goes_wrong() {
    copy_beside_short_calls(Broken::Horizon);
}

/// The native writer takes a published word back and puts an event in its place, which it then declares final.
fn copy_beside_native_short_calls(broken: Broken) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let block = Arc::new(ModelBlock::new());
        block::open(&&*block, &ModelWriter { uid: 1, sequence: 0, base: 0, head: 0 }.life(0));
        let writer = {
            let block = Arc::clone(&block);
            thread::spawn(move || {
                let head = block::publish(&&*block, 0, word::pack(true, 1, 10), &[]);
                let head = block::publish(&&*block, head, word::pack(true, 2, 10), &[]);
                let head = block::retract_word(&&*block, head, ClockMode::Precise);
                let head = block::retract_word(&&*block, head, ClockMode::Precise);
                let head = block::publish(&&*block, head, word::pack(true, 3, 11), &[]);
                let head = block::publish(&&*block, head, word::pack(true, 4, 11), &[]);
                block::settle(&&*block, head);
            })
        };
        // All of it is too young to be copied, but for what is below the floor.
        let horizon = if broken == Broken::Floor { fold::ALL_FINAL } else { 5 };
        let mut words = Vec::new();
        block::copy(&&*block, 0, horizon, &mut words);
        let ids: Vec<_> = words.iter().map(|word| word::id(*word)).collect();
        let whole: [&[u32]; 5] = [&[], &[1], &[1, 2], &[3], &[3, 4]];
        assert!(whole.contains(&&ids[..]), "{ids:?}");
        writer.join().unwrap();
    });
}

#[test]
fn loom_words_below_the_floor_are_final() {
    copy_beside_native_short_calls(Broken::Nothing);
}

#[test]
#[should_panic]
fn loom_words_above_the_floor_are_not() {
    copy_beside_native_short_calls(Broken::Floor);
}

/// A mark is placed after `before` words, and copied by another thread while the writer writes `during` more.
fn copy_beside_writer(before: usize, during: usize, broken: Broken) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let ring = Arc::new(ModelRing::new());
        let mut writer = ModelWriter { uid: 1, sequence: 0, base: 0, head: 0 };
        (0..before).for_each(|_| (&*ring).write(&mut writer, Broken::Nothing));
        let mark = (&*ring).mark().expect("the writer stands still");
        assert_eq!(mark.position(), before as u64);
        // What is there already when the copying begins.
        ring.write(&mut writer, broken);
        let copier = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || copy(&&*ring, &mark, before as u64, broken))
        };
        (0..during).for_each(|_| ring.write(&mut writer, broken));
        copier.join().unwrap();
        let overwritten = writer.base + WORDS as u64 > before as u64 + 2 * WORDS as u64;
        assert!(!(overwritten && (&&*ring).is_valid(&mark)), "valid over overwritten words");
    });
}

fn copy(ring: &&ModelRing, mark: &Mark, from: u64, broken: Broken) {
    let mut slice = Slice::default();
    if broken == Broken::SecondCheck {
        if !ring.is_valid(mark) {
            return;
        }
        // The words as they are, without a second check.
        let words: Vec<u64> = (from..=from).map(|p| load(ring, p)).collect();
        assert_eq!(words, [word_at(from)]);
        return;
    }
    match ring.copy_since(mark, &mut slice) {
        Ok(()) => check(&slice, from, from + 1),
        Err(Overwritten) => assert!(slice.is_empty()),
    }
}

fn load(ring: &ModelRing, position: u64) -> u64 {
    ring.blocks[position as usize / WORDS % 2].words[position as usize % WORDS].load(Ordering::Relaxed)
}

#[test]
fn loom_a_copy_beside_the_writer_is_right_or_refused() {
    copy_beside_writer(1, 2, Broken::Nothing);
    copy_beside_writer(0, 4, Broken::Nothing);
    copy_beside_writer(2, 3, Broken::Nothing);
}

#[test]
#[should_panic]
fn loom_without_the_fence_before_the_head_a_copy_goes_wrong() {
    copy_beside_writer(0, 4, Broken::PublishFence);
}

#[test]
#[should_panic]
fn loom_without_emptying_the_block_first_a_copy_goes_wrong() {
    copy_beside_writer(0, 4, Broken::EmptyFirst);
}

#[test]
#[should_panic]
fn loom_without_a_second_check_a_copy_goes_wrong() {
    copy_beside_writer(0, 4, Broken::SecondCheck);
}

/// A mark placed by another thread is between what was published before the call and after.
#[test]
fn loom_a_mark_placed_beside_the_writer_is_where_the_writer_was() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let ring = Arc::new(ModelRing::new());
        let published = Arc::new(AtomicU64::new(0));
        let mut writer = ModelWriter { uid: 1, sequence: 0, base: 0, head: 0 };
        ring.write(&mut writer, Broken::Nothing);
        published.store(1, Ordering::Release);
        let placer = {
            let (ring, published) = (Arc::clone(&ring), Arc::clone(&published));
            thread::spawn(move || {
                let before = published.load(Ordering::Acquire);
                let Some(mark) = (&*ring).mark() else { return };
                assert!((before..=5).contains(&mark.position()), "{mark:?} behind {before}");
            })
        };
        for n in 2..=5 {
            ring.write(&mut writer, Broken::Nothing);
            published.store(n, Ordering::Release);
        }
        placer.join().unwrap();
        assert_eq!((&*ring).mark().map(|mark| mark.position()), Some(5));
    });
}

fn new_gate() -> &'static Gate {
    Box::leak(Box::new(Gate::new()))
}

/// Two threads write into a pool of three blocks and are killed at any instant; of each thread the blocks that
/// are left must be its last ones, without a hole.
fn kill_during_hand_over(broken: Broken) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let pool = Arc::new(Pool::new(3, 2));
        let blocks = Arc::new([ModelBlock::new(), ModelBlock::new(), ModelBlock::new()]);
        let killed = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        // The second takes the first one's oldest; the first then has to recycle its next.
        for (uid, rounds) in [(1, 4), (2, 1)] {
            let place = pool.join(uid, new_gate()).expect("a place each");
            let (pool, blocks) = (Arc::clone(&pool), Arc::clone(&blocks));
            let killed = Arc::clone(&killed);
            writers.push(thread::spawn(move || {
                let mut writer = ModelWriter { uid, sequence: 0, base: 0, head: 0 };
                for _ in 0..rounds {
                    // A kill is a thread that goes no further.
                    if killed.load(Ordering::Relaxed) {
                        return;
                    }
                    let begin = |Handed { number, recycled, .. }: Handed| {
                        if recycled && broken != Broken::PoolEmpties {
                            blocks[number as usize].head.store(EMPTYING, Ordering::Relaxed);
                        }
                        number
                    };
                    let Some(number) = pool.take(place, 1, |_| (0, 0), begin) else { return };
                    if killed.load(Ordering::Relaxed) {
                        return;
                    }
                    let block = &blocks[number as usize];
                    block::open(&block, &writer.life(writer.sequence));
                    writer.head = block::publish(&block, 0, writer.word(), &[]);
                    writer.sequence += 1;
                    writer.base += writer.head as u64;
                    writer.head = 0;
                }
            }));
        }
        killed.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let mut left: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        let is_there = |b: &&ModelBlock| (1..=WORDS as u32).contains(&b.head.load(Ordering::Relaxed));
        for block in blocks.iter().filter(is_there) {
            let base = block.base.load(Ordering::Relaxed);
            assert_eq!(block.words[0].load(Ordering::Relaxed), word_at(base));
            let uid = block.uid.load(Ordering::Relaxed);
            left.entry(uid).or_default().push((block.sequence.load(Ordering::Relaxed), base));
        }
        for blocks in left.values_mut() {
            blocks.sort_unstable();
            let whole = blocks.windows(2).all(|w| w[1] == (w[0].0 + 1, w[0].1 + 1));
            assert!(whole, "a hole: {blocks:?}");
        }
    });
}

#[test]
fn loom_a_kill_during_a_hand_over_leaves_no_hole() {
    kill_during_hand_over(Broken::Nothing);
}

#[test]
#[should_panic]
fn loom_without_emptying_in_the_pool_a_kill_leaves_a_hole() {
    kill_during_hand_over(Broken::PoolEmpties);
}

/// A reader copies a block that the pool takes from one thread and gives to another.
#[test]
fn loom_a_block_that_changes_hands_is_read_as_one_or_the_others() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let pool = Arc::new(Pool::new(1, 2));
        let block = Arc::new(ModelBlock::new());
        let (first, second) = (pool.join(1, new_gate()).unwrap(), pool.join(2, new_gate()).unwrap());
        assert_eq!(pool.take(first, 1, |_| (0, 0), |handed| handed.number), Some(0));
        let writer = ModelWriter { uid: 1, sequence: 0, base: 10, head: 0 };
        block::open(&&*block, &writer.life(7));
        block::publish(&&*block, 0, word_at(10), &[]);
        let reader = {
            let block = Arc::clone(&block);
            thread::spawn(move || {
                for (sequence, base) in [(7, 10), (9, 20)] {
                    let mut words = Vec::new();
                    match block::copy(&&*block, sequence, fold::ALL_FINAL, &mut words) {
                        Observed::There(extent) => {
                            assert_eq!(extent.base, base);
                            let wanted: Vec<_> =
                                (base..base + extent.head as u64).map(|p| word_at(p)).collect();
                            assert_eq!(words, wanted);
                        }
                        Observed::NotYet | Observed::Gone => assert!(words.is_empty()),
                    }
                }
            })
        };
        pool.leave(first);
        let taken = pool.take(
            second,
            1,
            |_| (0, 0),
            |handed| {
                assert!(handed.recycled);
                block.head.store(EMPTYING, Ordering::Relaxed);
                fence(Ordering::Release);
                handed.number
            },
        );
        assert_eq!(taken, Some(0));
        let writer = ModelWriter { uid: 2, sequence: 0, base: 20, head: 0 };
        block::open(&&*block, &writer.life(9));
        let head = block::publish(&&*block, 0, word_at(20), &[]);
        block::publish(&&*block, head, word_at(21), &[]);
        reader.join().unwrap();
    });
}
