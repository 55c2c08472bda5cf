//! A 32-bit writer killed after each of its stores: what it leaves, and what is read of that.

use std::cell::{Cell, RefCell};

use trace_format::event::{Clocks, Event, TextId};
use trace_format::layout::BLOCK_LEN;
use trace_format::synth::RecordingBuilder;
use trace_format::{Item, Recording};

use super::*;

/// Memory of a ring of two blocks on a 32-bit machine, which takes a number of stores and no more.
struct Dying {
    bytes: RefCell<Vec<u8>>,
    /// Stores made or tried.
    stores: Cell<usize>,
    /// Stores that are carried out before the kill.
    until: usize,
    /// Which half of a 64-bit store comes first.
    upper_first: bool,
}

struct DyingBlock<'a>(&'a Dying, usize);

impl DyingBlock<'_> {
    fn store(&self, offset: usize, value: u32) {
        let n = self.0.stores.replace(self.0.stores.get() + 1);
        if n < self.0.until {
            let at = self.1 * BLOCK_LEN + offset;
            self.0.bytes.borrow_mut()[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }

    fn load(&self, offset: usize) -> u32 {
        let at = self.1 * BLOCK_LEN + offset;
        u32::from_le_bytes(self.0.bytes.borrow()[at..at + 4].try_into().unwrap())
    }
}

impl BlockMemory for DyingBlock<'_> {
    const WORDS: usize = BLOCK_WORDS;

    fn load_u32(&self, offset: usize) -> u32 {
        self.load(offset)
    }

    fn store_u32(&self, offset: usize, value: u32) {
        self.store(offset, value);
    }

    fn load_u64(&self, offset: usize) -> u64 {
        u64::from(self.load(offset)) | u64::from(self.load(offset + 4)) << 32
    }

    fn store_u64(&self, offset: usize, value: u64) {
        let halves = [(offset, value as u32), (offset + 4, (value >> 32) as u32)];
        for i in if self.0.upper_first { [1, 0] } else { [0, 1] } {
            self.store(halves[i].0, halves[i].1);
        }
    }

    fn load_word(&self, index: usize) -> u64 {
        self.load_u64(at::WORDS + index * 8)
    }

    fn store_word(&self, index: usize, value: u64) {
        self.store_u64(at::WORDS + index * 8, value);
    }
}

/// What happened in the life of the writer, and after how many stores.
enum Did {
    /// The block of this sequence number was emptied for its life.
    Opened(u64, usize),
    /// The event with this number was published in the block of this sequence number.
    Published(u64, u64, usize),
}

fn event(number: u64) -> Event {
    match number % 3 {
        0 => Event::Clock(Clocks { boottime: u64::MAX - number, monotonic: u64::MAX / 3, realtime: number }),
        1 => Event::Counter(TextId(number as u32), number as f64),
        _ => Event::Enter(1 + number as u32),
    }
}

/// Five lives of three events each in two blocks.
fn live(memory: &Dying) -> Vec<Did> {
    let mut did = Vec::new();
    let (mut base, mut number) = (0, 0);
    for sequence in 0..5 {
        let block = DyingBlock(memory, sequence as usize % 2);
        let emptied = memory.stores.get() + 1;
        let t0 = 0xFFFF_FFF0 + sequence * 1_000;
        open(&block, &Life { uid: 1, tid: 1, sequence, t0, base, mode: ClockMode::Precise });
        did.push(Did::Opened(sequence, emptied));
        let mut head = 0;
        for _ in 0..3 {
            let event = event(number).encode();
            if !event.is_plain() {
                settle(&block, head + 1 + event.payload().len());
            }
            head = publish(&block, head, event.word(number), event.payload());
            did.push(Did::Published(number, sequence, memory.stores.get()));
            number += 1;
        }
        base += head as u64;
    }
    did
}

fn recording_with(blocks: &[u8]) -> Vec<u8> {
    let mut bytes = RecordingBuilder::new(1, "p")
        .main("main", |t| {
            t.enter(1_000, 1).new_block(2_000).enter(2_000, 2);
        })
        .build();
    // The builder puts main's ring right behind the header.
    bytes[4096..4096 + blocks.len()].copy_from_slice(blocks);
    bytes
}

#[test]
fn a_kill_between_the_halves_of_a_word_loses_no_event_and_leaves_none_torn() {
    for upper_first in [false, true] {
        let memory = |until| Dying {
            bytes: RefCell::new(vec![0; 2 * BLOCK_LEN]),
            stores: Cell::new(0),
            until,
            upper_first,
        };
        let whole = memory(usize::MAX);
        let did = live(&whole);
        for until in 0..=whole.stores.get() {
            let memory = memory(until);
            live(&memory);
            let mut expected = Vec::new();
            for step in &did {
                match *step {
                    Did::Opened(sequence, at) if at <= until => expected.retain(|(_, s)| s + 2 != sequence),
                    Did::Published(number, sequence, at) if at <= until => expected.push((number, sequence)),
                    _ => {}
                }
            }
            let wanted: Vec<_> = expected.iter().map(|(number, _)| event(*number)).collect();
            let recording = Recording::open(recording_with(&memory.bytes.borrow())).unwrap();
            assert_eq!(recording.faults().0, [], "killed after {until} stores");
            let read: Vec<_> = recording
                .threads()
                .iter()
                .flat_map(|thread| recording.events(thread))
                .map(|item| match item.unwrap() {
                    Item::Event { event, .. } => event,
                    other => panic!("killed after {until} stores: {other:?}"),
                })
                .collect();
            assert_eq!(read, wanted, "killed after {until} stores");
            // A copy in the process sees the same.
            for sequence in 0..5 {
                let mut words = Vec::new();
                let seen = copy(&DyingBlock(&memory, sequence as usize % 2), sequence, ALL_FINAL, &mut words);
                let there: Vec<_> = expected.iter().filter(|(_, s)| *s == sequence).collect();
                let encoded = there.iter().flat_map(|(number, _)| {
                    let event = event(*number).encode();
                    [event.word(*number)].into_iter().chain(event.payload().to_vec()).collect::<Vec<_>>()
                });
                assert!(encoded.eq(words), "killed after {until} stores, block {sequence}");
                assert_eq!(matches!(seen, Observed::There(_)), !there.is_empty());
            }
        }
    }
}

#[test]
fn a_head_that_no_writer_stored_reads_nothing_beyond_the_block() {
    let memory =
        Dying { bytes: RefCell::new(vec![0; BLOCK_LEN]), stores: Cell::new(0), until: 9, upper_first: false };
    let block = DyingBlock(&memory, 0);
    block.store_u32(at::HEAD, BLOCK_WORDS as u32 + 1);
    let mut words = Vec::new();
    assert_eq!(copy(&block, 0, ALL_FINAL, &mut words), Observed::Gone);
    assert!(words.is_empty());
}

/// A coarse block with Java's words behind `head` native ones, each an enter with this time since t0.
fn coarse(memory: &Dying, head: usize, java: &[u64]) {
    let block = DyingBlock(memory, 0);
    open(&block, &Life { uid: 1, tid: 1, sequence: 0, t0: 1_000, base: 0, mode: ClockMode::Coarse });
    for index in 0..head {
        publish_before_java(&block, index, word::pack(true, 1, 1), &[]);
    }
    settle(&block, head);
    for (n, since) in java.iter().enumerate() {
        block.store_word(head + n + 1, 0);
        block.store_word(head + n, word::pack(true, 2 + n as u32, *since));
    }
}

fn immortal() -> Dying {
    Dying {
        bytes: RefCell::new(vec![0; BLOCK_LEN]),
        stores: Cell::new(0),
        until: usize::MAX,
        upper_first: false,
    }
}

#[test]
fn a_copy_ends_in_front_of_words_that_may_be_retracted() {
    let memory = immortal();
    coarse(&memory, 3, &[10, 20, 20, 30]);
    let block = DyingBlock(&memory, 0);
    let words = |horizon| {
        let mut words = Vec::new();
        copy(&block, 0, horizon, &mut words);
        words.iter().map(|word| word::id(*word)).collect::<Vec<_>>()
    };
    assert_eq!(words(ALL_FINAL), [1, 1, 1, 2, 3, 4, 5]);
    assert_eq!(words(1_030), [1, 1, 1, 2, 3, 4]);
    assert_eq!(words(1_020), [1, 1, 1, 2]);
    // What is native is final, however young.
    assert_eq!((words(1_000), words(0)), (vec![1, 1, 1], vec![1, 1, 1]));
    // Hours later all of it is.
    assert_eq!(words(1_000 + 3 * word::MAX_GAP), words(ALL_FINAL));
}

#[test]
fn a_precise_block_retracts_its_last_word_and_a_copy_stops_there() {
    let memory = immortal();
    let block = DyingBlock(&memory, 0);
    open(&block, &Life { uid: 1, tid: 1, sequence: 0, t0: 1_000, base: 0, mode: ClockMode::Precise });
    let mut head = 0;
    for since in [5, 6, 7] {
        head = publish(&block, head, word::pack(true, 9, since), &[]);
    }
    let words = |horizon| {
        let mut words = Vec::new();
        copy(&block, 0, horizon, &mut words);
        words.len()
    };
    assert_eq!((words(ALL_FINAL), words(1_007), words(1_005)), (3, 2, 0));
    head = retract_word(&block, head, ClockMode::Precise);
    assert_eq!((head, words(ALL_FINAL)), (2, 2));
    settle(&block, head);
    assert_eq!(words(0), 2);
}

/// The words of a block that readers find.
fn found(block: &RawBlock) -> Vec<u64> {
    let mut words = Vec::new();
    copy(block, 0, ALL_FINAL, &mut words);
    words
}

#[test]
fn a_last_word_that_was_retracted_behind_a_copy_is_gone_from_the_next_one() {
    // Aligned to 8, and never freed.
    let place = || NonNull::from(Vec::leak(vec![0_u64; BLOCK_LEN / 8])).cast::<u8>();
    // SAFETY: a block's length that lives for ever, and nothing but these reaches it.
    let (from, to) = unsafe { (RawBlock::new(place()), RawBlock::new(place())) };
    open(&from, &Life { uid: 1, tid: 1, sequence: 0, t0: 1_000, base: 0, mode: ClockMode::Coarse });
    let mut head = 0;
    for id in [7, 8, 9] {
        head = publish_before_java(&from, head, word::pack(true, id, 5), &[]);
    }
    // Beside a writer that was stopped in the middle of a short call's end: its enter seems old enough to stay.
    assert!(transfer(&from, &to, 2_000));
    assert_eq!(found(&to).len(), 3);
    head = retract_word(&from, head, ClockMode::Coarse);
    assert!(transfer(&from, &to, ALL_FINAL));
    assert_eq!(found(&to), found(&from), "nothing has come in its place");
    let event = Event::Time(1_234_567).encode();
    head = publish_before_java(&from, head, event.word(900), event.payload());
    settle(&from, head);
    assert!(transfer(&from, &to, 0));
    assert_eq!((found(&to), head), (found(&from), 4), "an event of two words has");
}
