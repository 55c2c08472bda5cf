//! Methods that are called so often, and are over so quickly, that recording them costs more than it tells: they are
//! switched off, and the recording says which and since when.
//!
//! Nothing is counted on the hot path. Every 100 ms the ticker looks through one block that main has just filled, a
//! thousand words: how often each method is in it, and how long its calls took.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use trace_format::event::{self, Change};
use trace_format::layout::{BLOCK_LEN, BLOCK_WORDS, block};
use trace_format::{ids, word};

use crate::control;
use crate::recorder::Recorder;
use crate::writing::switches;

/// When a method is too dear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Enters and exits a second, both counted, from which on a method is too frequent.
    pub events_per_second: u64,
    /// Mean duration in ns below which a frequent method is switched off. In coarse time anything shorter than a
    /// millisecond often counts as 0.
    pub shorter_than_ns: u64,
}

/// Samples in a row in which a method must be over the budget: a burst is no habit.
const SAMPLES: u8 = 3;
/// Different methods that are looked at in one sample; the rest are not frequent in it.
const METHODS: usize = 128;

static BUDGET: OnceLock<Budget> = OnceLock::new();

#[derive(Debug)]
struct Watch {
    /// The block that was looked at last.
    sequence: u64,
    /// Methods that were over the budget in the last sample, and in how many in a row.
    suspects: [(u32, u8); 16],
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { sequence: u64::MAX, suspects: [(0, 0); 16] });

/// Sets the budget, once a process.
pub(crate) fn set(budget: Budget) {
    let _ = BUDGET.set(budget);
}

/// The ticker's, every now and then.
pub(crate) fn check(recorder: &Recorder) {
    let Some(budget) = BUDGET.get() else { return };
    let Some(full) = recorder.main_blocks.last_full() else { return };
    let mut words = [0; BLOCK_WORDS];
    let Some(sample) = Sample::copy(full.as_ptr(), &mut words) else { return };
    let mut watch = WATCH.lock().unwrap_or_else(PoisonError::into_inner);
    if watch.sequence == sample.sequence {
        return;
    }
    watch.sequence = sample.sequence;
    let mut over = [(0, 0); 16];
    let found = tally(&sample, budget);
    for (slot, (id, rate)) in over.iter_mut().zip(found.into_iter().flatten()) {
        let before = watch.suspects.iter().find(|s| s.0 == id).map_or(0, |s| s.1);
        *slot = (id, before + 1);
        if before + 1 >= SAMPLES && switches::set(id, false) {
            control::tell(Change::OverBudget, id, rate);
        }
    }
    watch.suspects = over;
}

/// A block as it was.
struct Sample<'a> {
    sequence: u64,
    t0: u64,
    words: &'a [u64],
}

impl<'a> Sample<'a> {
    /// Copies a block of main's ring beside its writer; `None` if that has reused it meanwhile.
    fn copy(from: *const u8, words: &'a mut [u64; BLOCK_WORDS]) -> Option<Self> {
        let u64_at = |offset: usize| {
            debug_assert!(offset + 8 <= BLOCK_LEN && offset.is_multiple_of(8));
            // SAFETY: `from` is a block of the mapping, the offset lies inside; its writer stores atomically.
            unsafe { AtomicU64::from_ptr(from.add(offset).cast_mut().cast()) }.load(Ordering::Relaxed)
        };
        let head = || {
            // SAFETY: as above.
            unsafe { AtomicU32::from_ptr(from.add(block::HEAD).cast_mut().cast()) }.load(Ordering::Acquire)
        };
        let length = head() as usize;
        let sequence = u64_at(block::SEQUENCE);
        let t0 = u64_at(block::T0);
        let words = words.get_mut(..length)?;
        for (i, word) in words.iter_mut().enumerate() {
            *word = u64_at(block::WORDS + i * 8);
        }
        std::sync::atomic::fence(Ordering::Acquire);
        (u64_at(block::SEQUENCE) == sequence && head() as usize >= length).then_some(Self {
            sequence,
            t0,
            words,
        })
    }
}

/// The methods over the budget in this sample, with their events a second.
fn tally(sample: &Sample<'_>, budget: &Budget) -> [Option<(u32, u64)>; 16] {
    #[derive(Clone, Copy, Default)]
    struct Tally {
        id: u32,
        events: u64,
        entered: Option<u64>,
        calls: u64,
        spent: u64,
    }
    let mut tallies = [Tally::default(); METHODS];
    let mut now = sample.t0;
    let mut at = 0;
    while let Some(&w) = sample.words.get(at) {
        let id = word::id(w);
        at += 1 + event::payload_len(id);
        now = word::time(w, sample.t0, now);
        if !ids::is_method(id) {
            continue;
        }
        let Some(tally) = tallies.iter_mut().find(|t| t.id == id || t.id == 0) else { continue };
        tally.id = id;
        tally.events += 1;
        if word::is_begin(w) {
            tally.entered = Some(now);
        } else if let Some(entered) = tally.entered.take() {
            tally.calls += 1;
            tally.spent += now - entered;
        }
    }
    let span = (now - sample.t0).max(1);
    let mut over = [None; 16];
    let dear = tallies.iter().filter_map(|t| {
        let rate = u64::try_from(u128::from(t.events) * 1_000_000_000 / u128::from(span)).unwrap_or(u64::MAX);
        let short = t.spent.checked_div(t.calls).is_some_and(|mean| mean < budget.shorter_than_ns);
        // Once or twice in a block says nothing.
        (t.events >= 16 && rate > budget.events_per_second && short).then_some((t.id, rate))
    });
    for (slot, found) in over.iter_mut().zip(dear) {
        *slot = Some(found);
    }
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(calls: &[(u32, u64, u64)]) -> Vec<u64> {
        calls
            .iter()
            .flat_map(|(id, from, to)| [word::pack(true, *id, *from), word::pack(false, *id, *to)])
            .collect()
    }

    fn over(words: &[u64], budget: Budget) -> Vec<(u32, u64)> {
        tally(&Sample { sequence: 0, t0: 1_000, words }, &budget).into_iter().flatten().collect()
    }

    const BUDGET: Budget = Budget { events_per_second: 100_000, shorter_than_ns: 5_000 };

    #[test]
    fn frequent_and_short_is_too_dear_and_each_alone_is_not() {
        // 2 events every 10 µs.
        let short: Vec<_> = (0..100).map(|i| (7, i * 10_000, i * 10_000 + 100)).collect();
        assert_eq!(over(&words(&short), BUDGET), [(7, 200 * 1_000_000_000 / 990_100)]);
        let long: Vec<_> = (0..100).map(|i| (7, i * 10_000, i * 10_000 + 9_000)).collect();
        assert_eq!(over(&words(&long), BUDGET), []);
        let rare: Vec<_> = (0..100).map(|i| (7, i * 100_000, i * 100_000 + 100)).collect();
        assert_eq!(over(&words(&rare), BUDGET), []);
        let few: Vec<_> = (0..7).map(|i| (7, i * 10, i * 10 + 1)).collect();
        assert_eq!(over(&words(&few), BUDGET), []);
    }

    #[test]
    fn payload_words_and_any_words_at_all_are_stepped_over() {
        let clocks = trace_format::Event::Clock(trace_format::event::Clocks {
            boottime: 7 << 43,
            ..Default::default()
        });
        let encoded = clocks.encode();
        let mut all = vec![encoded.word(0)];
        all.extend_from_slice(encoded.payload());
        all.extend(words(&[(9, 1, 2)]));
        assert_eq!(over(&all, Budget { events_per_second: 0, shorter_than_ns: u64::MAX }), []);
        let mut seed = 1_u64;
        let noise: Vec<u64> = (0..BLOCK_WORDS)
            .map(|_| {
                seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                seed
            })
            .collect();
        over(&noise, BUDGET);
    }
}
