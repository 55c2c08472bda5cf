//! Marks against an oracle that knows every word ever written, and against a writer that does not wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_format::event::{Clocks, Event, Frame, TextId};
use trace_format::layout::{BLOCK_WORDS, ClockMode, RegionKind, Sizes};

use super::*;
use crate::gate::Gate;
use crate::memory::mapping::Mapping;
use crate::memory::writer::Writer;
use crate::recorder::blocks::RingBlocks;
use crate::time::{clock, fold};

fn gate() -> &'static Gate {
    Box::leak(Box::new(Gate::new()))
}

fn ring(blocks: u32) -> RingBlocks {
    let sizes = Sizes {
        main_blocks: blocks,
        pool_blocks: 2,
        service_blocks: 2,
        threads: 4,
        string_bytes: 4096,
        native_slots: 0,
    };
    // The mapping is never unmapped: as in the app.
    RingBlocks::new(&Mapping::anonymous(&sizes).expect("memory"), RegionKind::MainRing)
}

/// Writes an event and returns its time.
fn write(writer: &mut Writer, ring: &RingBlocks, event: &Event) -> u64 {
    writer.put(&mut &*ring, &event.encode(), clock::boottime(), ClockMode::Precise, fold::NOTHING)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What a ring of blocks must hold, computed from the rules alone: events fill a block until one does not fit,
/// and the oldest block goes when there is one too many.
struct Oracle {
    length: usize,
    /// Base and words of each living block.
    blocks: VecDeque<(u64, usize)>,
    /// Place, time and event, of all that may still be there.
    events: VecDeque<(u64, u64, Event)>,
    position: u64,
}

impl Oracle {
    fn wrote(&mut self, time: u64, event: Event) {
        let needed = 1 + event.encode().payload().len();
        match self.blocks.back_mut() {
            Some((_, words)) if *words + needed <= BLOCK_WORDS => *words += needed,
            _ => {
                self.blocks.push_back((self.position, needed));
                if self.blocks.len() > self.length {
                    self.blocks.pop_front();
                }
            }
        }
        self.events.push_back((self.position, time, event));
        self.position += needed as u64;
        while self.events.front().is_some_and(|(place, ..)| *place < self.oldest()) {
            self.events.pop_front();
        }
    }

    /// The first place that is not overwritten.
    fn oldest(&self) -> u64 {
        self.blocks.front().map_or(0, |(base, _)| *base)
    }

    fn since(&self, place: u64) -> impl Iterator<Item = (u64, Event)> {
        let first = self.events.partition_point(|(p, ..)| *p < place);
        self.events.range(first..).map(|(_, time, event)| (*time, *event))
    }
}

fn event(random: &mut Random) -> Event {
    let n = random.next();
    match n % 8 {
        0 => Event::Clock(Clocks { boottime: n, monotonic: n / 2, realtime: n / 3 }),
        1 => Event::Counter(TextId(n as u32), f64::from(n as u32)),
        2 => Event::FrameBegin(Frame { vsync: n, intended: n / 7, interval: 1, ..Frame::default() }),
        3 => Event::MessageEnd,
        n if n % 2 == 0 => Event::Exit(1 + n as u32),
        _ => Event::Exit(1 + (n >> 9) as u32 % 0xF_0000),
    }
}

/// A million operations: place, write, wrap, ask, copy, let go.
#[test]
fn no_mark_is_ever_valid_over_overwritten_words_and_every_slice_is_what_was_written() {
    let seed = 0x5EED;
    let (mut asked, mut invalid, mut copied, mut refused, mut wraps) = (0, 0, 0, 0, 0);
    let mut slice = Slice::default();
    for round in 0..4 {
        let mut random = Random(seed + round);
        let blocks = 2 + round as u32;
        let ring = ring(blocks);
        let mut writer = Writer::new(1, 1, gate());
        let mut oracle =
            Oracle { length: blocks as usize, blocks: VecDeque::new(), events: VecDeque::new(), position: 0 };
        let mut marks: Vec<(Mark, u64)> = Vec::new();
        for step in 0..260_000 {
            let at = || format!("seed {seed}, round {round}, step {step}");
            match random.below(1000) {
                0..600 => {
                    let event = event(&mut random);
                    oracle.wrote(write(&mut writer, &ring, &event), event);
                }
                600..601 => {
                    for _ in 0..random.below(2_500) {
                        let event = event(&mut random);
                        oracle.wrote(write(&mut writer, &ring, &event), event);
                    }
                }
                601..740 => {
                    let mark = ring.mark().expect("the writer stands still");
                    assert_eq!(mark.position(), oracle.position, "{}", at());
                    marks.push((mark, oracle.position));
                    if marks.len() > 100 {
                        marks.swap_remove(random.below(100) as usize);
                    }
                }
                740..860 if !marks.is_empty() => {
                    let (mark, place) = marks[random.below(marks.len() as u64) as usize];
                    let valid = place >= oracle.oldest();
                    assert_eq!(ring.is_valid(&mark), valid, "{}", at());
                    (asked, invalid) = (asked + 1, invalid + u64::from(!valid));
                }
                860..900 if !marks.is_empty() => {
                    let (mark, place) = marks[random.below(marks.len() as u64) as usize];
                    if place < oracle.oldest() {
                        assert_eq!(ring.copy_since(&mark, &mut slice), Err(Overwritten), "{}", at());
                        assert!(slice.is_empty() && slice.events().next().is_none(), "{}", at());
                        refused += 1;
                    } else {
                        assert_eq!(ring.copy_since(&mark, &mut slice), Ok(()), "{}", at());
                        assert!(slice.events().eq(oracle.since(place)), "{}", at());
                        assert_eq!(slice.words(), oracle.position - place, "{}", at());
                        copied += 1;
                    }
                }
                _ if marks.len() > 10 => {
                    marks.swap_remove(random.below(marks.len() as u64) as usize);
                }
                _ => {}
            }
        }
        wraps += oracle.oldest() / (BLOCK_WORDS as u64 * u64::from(blocks));
    }
    // Every branch was taken often enough to mean something.
    assert!(asked > 100_000 && invalid > 10_000, "{asked} {invalid}");
    assert!(copied > 10_000 && refused > 3_000 && wraps > 500, "{copied} {refused} {wraps}");
}

#[test]
fn a_mark_at_the_end_of_a_full_block_outlives_the_block() {
    let ring = ring(2);
    let mut writer = Writer::new(1, 1, gate());
    let before = ring.mark().unwrap();
    assert!(ring.is_valid(&before));
    let mut fill = || {
        (0..BLOCK_WORDS).for_each(|_| {
            write(&mut writer, &ring, &Event::Exit(1));
        })
    };
    fill();
    let end = ring.mark().unwrap();
    fill();
    fill();
    // The first block is overwritten, but what follows the mark is not.
    let mut slice = Slice::default();
    assert_eq!(ring.copy_since(&end, &mut slice), Ok(()));
    assert_eq!(slice.words(), 2 * BLOCK_WORDS as u64);
    assert!(ring.is_valid(&end) && !ring.is_valid(&before));
    fill();
    assert!(!ring.is_valid(&end));
}

#[test]
fn a_slice_that_begins_in_a_block_open_for_hours_has_true_times() {
    let mut slice = Slice::default();
    let ring = ring(2);
    let mut writer = Writer::new(1, 1, gate());
    write(&mut writer, &ring, &Event::Exit(1));
    let first = ring.mark().unwrap();
    // As if a day had passed: the words say so, in a TIME event behind the mark's block's beginning.
    let block = ring.block(0);
    let day = 86_400_000_000_000_u64;
    let t0 = match block::extent(&block, 0, fold::ALL_FINAL) {
        Observed::There(extent) => extent.t0,
        other => panic!("{other:?}"),
    };
    let time = Event::Time(t0 + day).encode();
    block::settle(&block, 3);
    block::publish(&block, 1, time.word(day), time.payload());
    let mark = ring.mark().unwrap();
    block::publish(&block, 3, Event::Exit(1).encode().word(day + 5), &[]);
    ring.copy_since(&mark, &mut slice).unwrap();
    assert_eq!(slice.events().collect::<Vec<_>>(), [(t0 + day + 5, Event::Exit(1))]);
    ring.copy_since(&first, &mut slice).unwrap();
    assert_eq!(slice.events().count(), 2);
}

/// Two threads copy while a third writes and laps the ring hundreds of times.
#[test]
fn a_copy_beside_a_running_writer_is_right_or_refused() {
    let ring = &ring(4);
    // Events written and published; event number n says n.
    let written = &AtomicU64::new(0);
    let done = &AtomicBool::new(false);
    let (found, lapped) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let totals = std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut writer = Writer::new(1, 1, gate());
            let enough = || found.load(Ordering::Relaxed) > 1_000 && lapped.load(Ordering::Relaxed) > 0;
            // On a busy machine the copiers may not have run beside it yet.
            for n in (0..300_000_000_u64).take_while(|n| *n < 3_000_000 || n % 4_096 != 0 || !enough()) {
                let event = match n % 3 {
                    0 => Event::Counter(TextId(n as u32), n as f64),
                    _ => Event::Exit(1 + n as u32 % 0xF_0000),
                };
                write(&mut writer, ring, &event);
                written.store(n + 1, Ordering::Release);
                // Nor ever beside it, where one CPU is left for all: a copier that was interrupted then finds a few events.
                if n >= 3_000_000 && n % 64 == 0 && found.load(Ordering::Relaxed) <= 1_000 {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Release);
        });
        let copier = move |seed| {
            let mut random = Random(seed);
            let mut slice = Slice::default();
            let (mut right, mut refused, mut events) = (0_u64, 0_u64, 0_u64);
            while !done.load(Ordering::Acquire) {
                let before = written.load(Ordering::Acquire);
                let Some(mark) = ring.mark() else { continue };
                let after = written.load(Ordering::Acquire);
                let longest = 1 << random.below(15);
                for _ in 0..random.below(longest) {
                    std::hint::spin_loop();
                }
                let at_copy = written.load(Ordering::Acquire);
                if ring.copy_since(&mark, &mut slice).is_err() {
                    refused += 1;
                    lapped.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                right += 1;
                let mut first = None;
                let mut next = 0;
                for (_, event) in slice.events() {
                    if first.is_none() {
                        // Only a counter says its whole number; an event before it is at most two away.
                        let counter = slice.events().zip(0..).find_map(|((_, e), i)| match e {
                            Event::Counter(text, value) => Some((text, value as u64, i)),
                            _ => None,
                        });
                        let Some((text, n, i)) = counter else { break };
                        assert_eq!(text.0, n as u32);
                        next = n - i;
                        first = Some(next);
                        // The event that was being written may be published and not yet counted.
                        assert!((before..=after + 1).contains(&next), "{before} {next} {after}");
                    }
                    let wanted = match next % 3 {
                        0 => Event::Counter(TextId(next as u32), next as f64),
                        _ => Event::Exit(1 + next as u32 % 0xF_0000),
                    };
                    assert_eq!(event, wanted, "event {next} after {first:?}");
                    next += 1;
                    events += 1;
                    found.fetch_add(1, Ordering::Relaxed);
                }
                assert!(first.is_none() || next >= at_copy, "ends at {next}, {at_copy} were written");
            }
            (right, refused, events)
        };
        let copiers = [scope.spawn(move || copier(1)), scope.spawn(move || copier(2))];
        copiers.map(|copier| copier.join().expect("a copier found a wrong slice"))
    });
    let [(right, refused, events), (right2, refused2, events2)] = totals;
    assert!(right + right2 > 100 && events + events2 > 1_000, "{totals:?}");
    assert!(refused + refused2 > 0, "the ring was never lapped: {totals:?}");
}
