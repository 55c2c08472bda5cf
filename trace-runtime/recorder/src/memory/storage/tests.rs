//! The migration beside a writer that does not wait for it, and beside a reader that copies slices.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_format::event::Event;
use trace_format::layout::{BLOCK_LEN, BLOCK_WORDS, ClockMode, RegionKind, Sizes, block as at};
use trace_format::word;

use super::{Remaining, raw};
use crate::gate::{Gate, MIGRATE};
use crate::memory::block::{self, BlockMemory};
use crate::memory::mapping::Mapping;
use crate::memory::ring::Ring;
use crate::memory::slice::Slice;
use crate::memory::storage::Migrated;
use crate::memory::writer::{BlockSource, Writer};
use crate::recorder::blocks::RingBlocks;
use crate::time::{clock, fold};

const KIND: RegionKind = RegionKind::MainRing;

fn mappings(blocks: u32) -> (Mapping, Mapping) {
    let sizes = Sizes {
        main_blocks: blocks,
        pool_blocks: 2,
        service_blocks: 2,
        threads: 4,
        string_bytes: 4096,
        native_slots: 0,
    };
    // Never unmapped, as in the app. The simulated file is memory, too: these tests are about which thread writes where.
    (Mapping::anonymous(&sizes).expect("memory"), Mapping::anonymous(&sizes).expect("memory"))
}

fn gate() -> &'static Gate {
    Box::leak(Box::new(Gate::new()))
}

fn id(number: u64) -> u32 {
    (number % 0xFE000) as u32 + 1
}

fn write(writer: &mut Writer, ring: &RingBlocks, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let now = clock::boottime();
        if !writer.put_method(id(number), false, now, fold::NOTHING) {
            writer.put(
                &mut &*ring,
                &Event::Exit(id(number)).encode(),
                now,
                ClockMode::Precise,
                fold::NOTHING,
            );
        }
    }
}

/// `MethodBeat` on the main thread.
struct Java {
    behind: u64,
    gate: &'static Gate,
    /// Simulates a preemption between the check of the gate and the stores.
    stop: u64,
}

impl Java {
    fn call(&mut self, writer: &mut Writer, ring: &RingBlocks, number: u64) {
        let since = self.gate.since.load(Ordering::Relaxed) as i64;
        if !self.behind.is_multiple_of(BLOCK_LEN as u64) && since >= 0 {
            if number.is_multiple_of(64) {
                (0..self.stop).for_each(|_| std::hint::spin_loop());
            }
            let store = |address: u64, value| {
                // SAFETY: where `grant` said, or behind that in the same block; atomic, as everything there.
                unsafe { AtomicU64::from_ptr(address as usize as *mut u64) }.store(value, Ordering::Relaxed);
                std::sync::atomic::compiler_fence(Ordering::SeqCst);
            };
            store(self.behind, 0);
            store(self.behind - 8, word::pack(false, id(number), since as u64));
            self.behind += 8;
            return;
        }
        writer.release(self.behind);
        let now = writer.put(
            &mut &*ring,
            &Event::Exit(id(number)).encode(),
            clock::boottime(),
            ClockMode::Coarse,
            fold::NOTHING,
        );
        self.behind = writer.grant(now);
    }

    /// A typed event for Java, which keeps the position if it has it; returns whether it had.
    fn typed(&mut self, writer: &mut Writer, ring: &RingBlocks, event: &Event) -> bool {
        let (event, now) = (event.encode(), clock::boottime());
        let first = (event.begin, event.id);
        if let Some(behind) = writer.put_beside_java(first, event.payload(), now, self.behind) {
            self.behind = behind;
            return true;
        }
        writer.release(self.behind);
        let now = writer.put(&mut &*ring, &event, now, ClockMode::Coarse, fold::NOTHING);
        self.behind = writer.grant(now);
        false
    }
}

/// What the file has: by place, the words of each block, each checked to be the one with that number.
fn in_file(file: &Mapping, blocks: usize) -> BTreeMap<u64, usize> {
    let first = file.at(file.region(KIND).offset as usize, blocks * BLOCK_LEN);
    let all = (0..blocks).map(|number| raw(super::offset(first, number, blocks)));
    all.filter(|block| block.load_u32(at::HEAD) <= BLOCK_WORDS as u32)
        .map(|block| {
            let (base, mut head) = (block.load_u64(at::BASE), block.load_u32(at::HEAD) as usize);
            if block.load_u32(at::CLOCK_MODE) == ClockMode::Coarse as u32 {
                head = block::end(&block, head);
            }
            for index in 0..head {
                assert_eq!(word::id(block.load_word(index)), id(base + index as u64), "{base}+{index}");
            }
            (base, head)
        })
        .filter(|(_, head)| *head > 0)
        .collect()
}

/// The number of the first word and of the one behind the last, without a hole between them.
fn extent(blocks: &BTreeMap<u64, usize>) -> (u64, u64) {
    let first = *blocks.first_key_value().expect("a block").0;
    let end = blocks.iter().fold(first, |end, (&base, &head)| {
        assert_eq!(base, end, "a hole: {blocks:?}");
        base + head as u64
    });
    (first, end)
}

#[test]
fn a_block_in_use_is_copied_and_its_writer_goes_on_in_the_file() {
    let (memory, file) = mappings(4);
    let ring = RingBlocks::new(&memory, KIND);
    let gate = gate();
    let mut writer = Writer::new(1, 1, gate);
    write(&mut writer, &ring, 0..2_500);
    assert!(in_file(&file, 4).is_empty());
    ring.storage.set_file(&file, KIND);
    gate.ask(MIGRATE);
    assert_eq!(ring.copy_to_file(), Remaining::InUse, "the third block is in use");
    assert_eq!(ring.copy_to_file(), Remaining::InUse);
    // Its writer sleeps, and everything is there.
    assert_eq!(extent(&in_file(&file, 4)), (0, 2_500));
    write(&mut writer, &ring, 2_500..2_501);
    // At once in the file, in the block that was in use.
    assert_eq!(extent(&in_file(&file, 4)), (0, 2_501));
    assert_eq!(in_file(&file, 4).len(), 3);
    assert_eq!(ring.copy_to_file(), Remaining::Nothing);
    write(&mut writer, &ring, 2_501..10_000);
    assert_eq!(extent(&in_file(&file, 4)).1, 10_000);
}

#[test]
fn an_event_that_was_started_before_the_migration_is_copied_as_well() {
    let (memory, file) = mappings(2);
    let ring = RingBlocks::new(&memory, KIND);
    let gate = gate();
    let mut writer = Writer::new(1, 1, gate);
    write(&mut writer, &ring, 0..10);
    ring.storage.set_file(&file, KIND);
    gate.ask(MIGRATE);
    assert_eq!(ring.copy_to_file(), Remaining::InUse);
    // It had checked its gate before.
    let block = raw(ring.storage.at(0));
    block::publish(&block, 10, word::pack(false, id(10), 0), &[]);
    assert_eq!(ring.copy_to_file(), Remaining::InUse);
    assert_eq!(extent(&in_file(&file, 2)), (0, 11));
    write(&mut writer, &ring, 11..20);
    assert_eq!(extent(&in_file(&file, 2)), (0, 20));
}

#[test]
fn a_block_that_is_opened_while_the_worker_copies_it_stays_in_memory_until_next_time() {
    let (memory, file) = mappings(2);
    let ring = RingBlocks::new(&memory, KIND);
    let mut writer = Writer::new(1, 1, gate());
    write(&mut writer, &ring, 0..2_000);
    ring.storage.set_file(&file, KIND);
    // The worker has begun to copy the oldest block.
    ring.storage.places[0].store(super::COPYING, Ordering::SeqCst);
    let opened = (&ring).next_block().unwrap();
    assert_eq!(opened, ring.storage.in_memory(0));
    assert_eq!(ring.storage.migrate(opened), Migrated::NotYet, "the worker may still be at it");
    assert!(ring.storage.is_left_in_memory(opened));
    assert_eq!(ring.storage.at(0), opened);
    // It is done, and finds that it copied in vain.
    ring.storage.places[0].store(super::MEMORY, Ordering::SeqCst);
    let place = ring.storage.in_file(0).unwrap();
    assert_eq!(ring.storage.migrate(opened), Migrated::To(place));
    assert_eq!(ring.storage.migrate(place), Migrated::InFile);
    assert!(!ring.storage.is_left_in_memory(place));
    assert_eq!(ring.storage.at(0), ring.storage.in_file(0).unwrap());
}

#[test]
fn a_word_that_java_started_before_the_migration_is_copied_and_the_next_one_is_in_the_file() {
    let (memory, file) = mappings(2);
    let ring = RingBlocks::new(&memory, KIND);
    let gate = gate();
    let mut writer = Writer::new(1, 1, gate);
    let mut java = Java { behind: 0, gate, stop: 0 };
    (0..10).for_each(|number| java.call(&mut writer, &ring, number));
    assert_eq!(raw(ring.storage.at(0)).load_u32(at::HEAD), 1, "the others are Java's");
    ring.storage.set_file(&file, KIND);
    gate.ask(MIGRATE);
    assert_eq!(ring.copy_to_file(), Remaining::InUse);
    assert_eq!(extent(&in_file(&file, 2)), (0, 10));
    // It had found the gate open.
    gate.since.store(0, Ordering::SeqCst);
    java.call(&mut writer, &ring, 10);
    gate.close();
    assert_eq!(ring.copy_to_file(), Remaining::InUse);
    assert_eq!(extent(&in_file(&file, 2)), (0, 11));
    (11..2_000).for_each(|number| java.call(&mut writer, &ring, number));
    assert_eq!(extent(&in_file(&file, 2)), (0, 2_000));
    assert_eq!(ring.copy_to_file(), Remaining::Nothing);
}

/// What is recorded natively comes behind what Java has written, and Java's next word behind that.
#[test]
fn java_and_native_code_write_in_the_order_of_the_thread() {
    let (memory, _) = mappings(16);
    let ring = RingBlocks::new(&memory, KIND);
    let gate = gate();
    let mut writer = Writer::new(1, 1, gate);
    let mut java = Java { behind: 0, gate, stop: 0 };
    let mut wanted = Vec::new();
    let mut beside = 0;
    let mark = ring.mark().expect("no thread writes");
    for number in 0..5_000 {
        if number % 5 == 0 {
            let event = Event::Counter(trace_format::event::TextId(number as u32), 1.0);
            beside += u32::from(java.typed(&mut writer, &ring, &event));
            wanted.push(event);
        } else if number % 7 == 0 || number % 1_013 < 3 {
            let event = Event::Counter(trace_format::event::TextId(number as u32), 0.0);
            writer.put(&mut &ring, &event.encode(), clock::boottime(), ClockMode::Coarse, fold::NOTHING);
            wanted.push(event);
        } else {
            java.call(&mut writer, &ring, number);
            wanted.push(Event::Exit(id(number)));
        }
        gate.tick(clock::boottime(), word::MAX_GAP);
    }
    let mut slice = Slice::default();
    ring.copy_since(&mark, &mut slice).expect("it is all there");
    let events: Vec<_> = slice.events().collect();
    assert!(events.is_sorted_by_key(|(time, _)| *time));
    assert!(beside > 500, "{beside} of 1,000 left the position to Java");
    assert!(events.into_iter().map(|(_, event)| event).eq(wanted));
}

/// Writer, worker and copier at once, with rings that wrap during the move and rings that do not.
#[test]
fn nothing_is_lost_and_slices_are_right_during_a_migration() {
    everything_moves(false);
}

#[test]
fn nothing_is_lost_and_slices_are_right_during_a_migration_while_java_writes() {
    everything_moves(true);
}

fn everything_moves(in_java: bool) {
    let mut slice = Slice::default();
    for round in 0..300_u64 {
        let blocks = [2, 3, 8, 64][round as usize % 4];
        let (memory, file) = mappings(blocks);
        let ring = &RingBlocks::new(&memory, KIND);
        let written = &AtomicBool::new(false);
        let words = 1_000 + round.wrapping_mul(0x9E37_79B9) % 20_000;
        std::thread::scope(|scope| {
            let gate = gate();
            let writing = scope.spawn(move || {
                let mut writer = Writer::new(1, 1, gate);
                if in_java {
                    let mut java = Java { behind: 0, gate, stop: round * 8 };
                    (0..words).for_each(|number| java.call(&mut writer, ring, number));
                } else {
                    write(&mut writer, ring, 0..words);
                }
                written.store(true, Ordering::SeqCst);
            });
            let file = &file;
            scope.spawn(move || {
                for _ in 0..(round % 16) * 400 {
                    std::hint::spin_loop();
                }
                ring.storage.set_file(file, KIND);
                gate.ask(MIGRATE);
                while !written.load(Ordering::SeqCst) {
                    ring.copy_to_file();
                }
                ring.copy_to_file();
            });
            while !written.load(Ordering::SeqCst) {
                let Some(mark) = ring.mark() else { continue };
                std::hint::spin_loop();
                if ring.copy_since(&mark, &mut slice).is_ok() {
                    for (number, (_, event)) in (mark.position()..).zip(slice.events()) {
                        assert_eq!(event, Event::Exit(id(number)), "round {round}, word {number}");
                    }
                }
            }
            writing.join().unwrap();
        });
        let (first, end) = extent(&in_file(&file, blocks as usize));
        assert_eq!(end, words, "round {round}");
        // Blocks that were closed early, because the worker was just copying them, take room as full ones do.
        if words <= u64::from(blocks) / 2 * BLOCK_WORDS as u64 {
            assert_eq!(first, 0, "round {round}");
        }
    }
}
