//! A budget of words for main's ring: a recursion that would push everything else out of it is switched off.
//!
//! A call is kept if a tick falls into it, so a loop leaves a few words at each tick, and where that is too
//! much the limit of short calls is raised ([`fold`](crate::time::fold)). Neither helps against a deep
//! recursion. All its calls are open at the same tick, and the words of a call that is open where a block
//! ends stay, however short it was: a recursion of a thousand calls, which takes a few microseconds, leaves
//! up to two thousand words that are all alike.
//!
//! # The budget
//! A ring of `n` words reaches back [`REACH`] as long as no more than `n / REACH` are written in any time
//! unit. That much is allowed, and at first and after a calm time a sixteenth of the ring at once, which
//! shortens the reach by no more than that.
//!
//! When the budget is spent, the last full blocks are read, beside the writer. Of a recursion's words most
//! follow an equal one: an enter follows an enter of the same method, an exit an exit. The methods for which
//! that holds are switched off, those with the most words first, until the rest fits. In a loop enters and
//! exits alternate: it is never found.
//!
//! Writing counts nothing. A tick at which there is budget left costs the ticker one load and a subtraction.

use trace_format::layout::BLOCK_WORDS;
use trace_format::{event, ids, word};

use crate::memory::block::{self, Observed};
use crate::memory::ring::Ring;
use crate::time::fold::REACH;

/// This fraction of the ring may be written at once: one in so many.
const BURST_SHARE: i64 = 16;
/// Full blocks that are read.
const MAX_BLOCKS: u64 = 8;
/// A method with less than one in so many of the words does not fill the ring.
const MIN_SHARE: u64 = 16;

/// Rates are taken over at least this time, ns: coarse time advances by the tick.
const MIN_TIME_NS: u64 = 1_000_000;

/// A method that fills the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Filling {
    pub(crate) id: u32,
    /// Its calls that are kept, per second.
    pub(crate) calls: u64,
    /// Words that it writes, per second.
    pub(crate) words: u64,
}

/// The budget of a ring.
#[derive(Debug)]
pub(crate) struct Room {
    /// Words that the ring holds.
    ring: i64,
    /// Words that may be written now; less than 0 if there were too many.
    left: i64,
    /// Below this the blocks are read: not at every tick, because switches take a moment to have an effect.
    low: i64,
    /// Blocks that were opened at the last update, and its time.
    seen: u64,
    at: u64,
}

impl Room {
    /// For a ring that holds `ring` words.
    pub(crate) fn new(ring: u64, now: u64) -> Self {
        // No ring is as large, and the figures below stay within their type.
        let ring = ring.min(1 << 32) as i64;
        Self { ring, left: ring / BURST_SHARE, low: 0, seen: 0, at: now }
    }

    /// Spends what was written since the last update; returns the methods that fill the ring if the budget is
    /// spent.
    #[inline]
    pub(crate) fn update(&mut self, ring: &impl Ring, opened: u64, now: u64) -> Vec<Filling> {
        if opened != self.seen && self.is_spent(opened, now) {
            self.find(ring, opened, now)
        } else {
            Vec::new()
        }
    }

    fn is_spent(&mut self, opened: u64, now: u64) -> bool {
        let passed = now.saturating_sub(self.at);
        let written = (opened - self.seen).min(self.ring as u64).saturating_mul(BLOCK_WORDS as u64);
        let refill = words_in(self.ring, passed);
        let most = self.ring / BURST_SHARE;
        (self.seen, self.at) = (opened, now);
        // An excess is remembered for as long as the ring holds it.
        let left = (self.left + refill).min(most) - i64::try_from(written).unwrap_or(i64::MAX / 2);
        self.left = left.max(-self.ring);
        let spent = self.left < self.low;
        self.low = if spent { self.left - most / 4 } else { self.low.max(self.left - most / 4).min(0) };
        spent
    }

    /// Reads the last full blocks. A block that is overwritten meanwhile is skipped.
    fn find(&self, ring: &impl Ring, opened: u64, now: u64) -> Vec<Filling> {
        let newest = opened.saturating_sub(1);
        let mut since = now;
        let (mut words, mut block) = (Vec::new(), Vec::with_capacity(BLOCK_WORDS));
        for sequence in newest.saturating_sub(MAX_BLOCKS.min(ring.length() / 2))..newest {
            block.clear();
            let seen = block::copy(&ring.block(sequence), sequence, ring.horizon(), &mut block);
            if let Observed::There(extent) = seen {
                since = since.min(extent.t0);
                methods_of(&block, |word| words.push(word));
            }
        }
        let passed = now.saturating_sub(since).max(MIN_TIME_NS);
        filling(&words, passed, words_in(self.ring, passed) as u64)
    }
}

/// Words that may be written in `passed` ns to a ring of `ring` words, if it is to reach back far enough; at
/// most twice the ring.
fn words_in(ring: i64, passed: u64) -> i64 {
    const MICROS: u64 = 1_000;
    let passed = passed.min(2 * REACH) / MICROS;
    ring * passed as i64 / (REACH / MICROS) as i64
}

/// Calls `each` with the words of methods in a block.
fn methods_of(block: &[u64], mut each: impl FnMut(u64)) {
    let mut at = 0;
    while let Some(&word) = block.get(at) {
        let id = word::id(word);
        at += 1;
        if ids::is_method(id) {
            each(word);
        } else {
            at += event::payload_len(id);
        }
    }
}

/// The words of a method.
#[derive(Clone, Copy, Default)]
struct Words {
    id: u32,
    all: u64,
    begins: u64,
    /// Those that follow an equal one.
    nested: u64,
    last_begins: bool,
}

/// The methods that may have one in [`MIN_SHARE`] of the words: each method that has is among them (Misra and
/// Gries, 1982).
fn frequent(words: &[u64]) -> [Words; MIN_SHARE as usize] {
    let mut kept = [Words::default(); MIN_SHARE as usize];
    for word in words {
        let id = word::id(*word);
        if let Some(place) = kept.iter().position(|of| of.all > 0 && of.id == id) {
            kept[place].all += 1;
        } else if let Some(free) = kept.iter_mut().find(|of| of.all == 0) {
            (free.id, free.all) = (id, 1);
        } else {
            kept.iter_mut().for_each(|of| of.all -= 1);
        }
    }
    kept.map(|of| Words { id: of.id, ..Words::default() })
}

/// The recursions among these words of methods, which were written in `passed` ns, in which `allowed` fit.
fn filling(words: &[u64], passed: u64, allowed: u64) -> Vec<Filling> {
    let mut methods = frequent(words);
    for word in words {
        if let Some(of) = methods.iter_mut().find(|of| of.id == word::id(*word)) {
            let begins = word::is_begin(*word);
            of.nested += u64::from(of.all > 0 && of.last_begins == begins);
            of.all += 1;
            of.begins += u64::from(begins);
            of.last_begins = begins;
        }
    }
    let mut left = words.len() as u64;
    methods
        .iter_mut()
        .filter(|of| of.all * MIN_SHARE < left || of.nested * 4 < of.all * 3)
        .for_each(|of| of.all = 0);
    // A block has a thousand words: all figures are small.
    let rate = |count: u64| count * 1_000_000_000 / passed.max(MIN_TIME_NS);
    let mut filling = Vec::new();
    while left > allowed {
        let next =
            methods.iter_mut().filter(|of| of.all > 0).max_by_key(|of| (of.all, std::cmp::Reverse(of.id)));
        let Some(of) = next else { break };
        left -= of.all;
        filling.push(Filling { id: of.id, calls: rate(of.begins), words: rate(of.all) });
        of.all = 0;
    }
    filling
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A block's words: so many rounds of `round`, of which a positive number begins a method and a negative one ends it.
    fn rounds(round: &[i32], count: usize) -> Vec<u64> {
        let word = |n: &i32| word::pack(*n > 0, n.unsigned_abs(), 0);
        round.iter().map(word).cycle().take(round.len() * count).collect()
    }

    /// A method that calls itself so often.
    fn recursion(id: i32, depth: usize) -> Vec<i32> {
        [vec![id; depth], vec![-id; depth]].concat()
    }

    /// The methods that are found in blocks that were written in a second, where `allowed` words fit.
    fn fills(blocks: &[Vec<u64>], allowed: u64) -> Vec<Filling> {
        filling(&blocks.concat(), S, allowed)
    }

    #[test]
    fn a_recursion_fills_a_ring_and_a_loop_does_not() {
        let found = fills(&[rounds(&recursion(7, 500), 1)], 100);
        assert_eq!(found, [Filling { id: 7, calls: 500, words: 1_000 }]);
        // A block of begins, then one of ends.
        let found = fills(&[rounds(&[7], 1_000), rounds(&[-7], 1_000)], 100);
        assert_eq!(found.len(), 1);
        // Two methods that call each other.
        let found = fills(&[rounds(&[7, 8], 500), rounds(&[-8, -7], 500)], 100);
        assert_eq!(found.iter().map(|of| of.id).collect::<Vec<_>>(), [7, 8]);
        // A loop with three calls, and a tree of which every call has two.
        assert_eq!(fills(&[rounds(&[1, 2, -2, 3, -3, -1], 160)], 100), []);
        assert_eq!(fills(&[rounds(&[5, 5, 5, -5, 5, -5, -5, 5, 5, -5, 5, -5, -5, -5], 70)], 100), []);
    }

    #[test]
    fn no_more_go_off_than_it_takes() {
        let round = [recursion(7, 300), recursion(8, 150), recursion(9, 20), vec![1, -1]].concat();
        let block = [rounds(&round, 1)];
        let off = |allowed| fills(&block, allowed).iter().map(|of| of.id).collect::<Vec<_>>();
        assert_eq!(off(942), []);
        assert_eq!(off(342), [7]);
        assert_eq!(off(10), [7, 8], "9 has too few words to be to blame");
    }

    #[test]
    fn typed_events_do_not_count_and_words_of_any_kind_are_counted_without_a_panic() {
        let clock = trace_format::Event::Clock(trace_format::event::Clocks::default()).encode();
        let mut words = rounds(&recursion(7, 10), 1);
        words.push(clock.word(0));
        words.extend(clock.payload());
        words.extend(rounds(&recursion(7, 10), 1));
        let of = |block: &[u64]| {
            let mut words = Vec::new();
            methods_of(block, |word| words.push(word));
            words
        };
        assert_eq!(of(&words), rounds(&recursion(7, 10), 2));
        // Cut in the middle of an event.
        assert_eq!(of(&words[..words.len() - 22]).len(), 20);
        filling(&of(&[0, u64::MAX, 1]), S, 0);
        assert_eq!(filling(&[], 0, 0), []);
    }

    #[test]
    fn a_method_with_its_share_of_the_words_is_found_among_any_number_of_others() {
        // A thousand methods with a word each, and between them two recursions with a sixteenth of the words or more.
        let others: Vec<Vec<u64>> = (1_000..2_000).map(|id| rounds(&[id], 1)).collect();
        let mut blocks = vec![rounds(&recursion(7, 60), 1)];
        blocks.extend(others);
        blocks.push(rounds(&recursion(8, 50), 1));
        let ids: Vec<u32> = fills(&blocks, 100).iter().map(|of| of.id).collect();
        assert_eq!(ids, [7, 8]);
    }

    #[test]
    fn the_budget_allows_a_burst_and_what_reaches_back_far_enough() {
        let block = BLOCK_WORDS as u64;
        let ring = 984 * block;
        let mut room = Room::new(ring, 0);
        // A sixteenth at once.
        assert!(!room.is_spent(61, S));
        assert!(room.is_spent(122, 2 * S));
        // And the whole ring in each REACH for ever, which is 10.9 blocks a second.
        let mut room = Room::new(ring, 0);
        assert!((1..10_000).all(|n| !room.is_spent(10 * n, n * S)));
        // Twice that is too much, a few seconds later.
        let (opened, now) = (10 * 9_999, 9_999 * S);
        let after = (1..100).find(|n| room.is_spent(opened + 22 * n, now + n * S));
        assert_eq!(after, Some(5));
        // However much it was, it is forgotten when the ring has forgotten it.
        assert!(room.is_spent(1 << 40, now + 200 * S) && room.left == -room.ring);
        assert!(!room.is_spent((1 << 40) + 1, now + 300 * S) && room.left > 0);
    }

    #[test]
    fn what_is_written_stays_within_the_budget_if_what_is_found_goes_off_for_a_while() {
        let block = BLOCK_WORDS as u64;
        let ring = 984 * block;
        let mut room = Room::new(ring, 0);
        let (mut opened, mut off_until, mut before) = (0_u64, 0, 0);
        let tick = 1_000_000;
        for now in (tick..=180 * S).step_by(tick as usize) {
            if now == 90 * S {
                before = opened;
            }
            // A recursion that would fill the ring in 50 ms, beside which nothing is recorded.
            if now >= off_until {
                opened += 20;
                if room.is_spent(opened, now) {
                    off_until = now + 5 * S;
                }
            }
        }
        assert!((opened - before) * block < ring * 9 / 8, "{} of {} blocks", opened - before, ring / block);
    }
}
