//! Which calls are too short to be recorded: an exit retracts its own enter, if that is the last word.
//!
//! In coarse time a call that no tick falls into has length zero. Nearly all calls are such calls, and each
//! takes two words: they would push everything else out. Without them the ring holds what a profiler that
//! samples at the rate of the ticker would see, with exact nesting and true starts and ends. Where even that
//! is more than the ring holds for `REACH`, the limit is raised: then calls that contain a few ticks are
//! left out too.
//!
//! `MethodBeat` reads the limits in the time word's memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sync;
use crate::time::coarse::TIME;
use crate::time::time_word::{FOLD_NOTHING, READ_CLOCK};

/// No limit: every call is recorded.
pub const NOTHING: u64 = FOLD_NOTHING;

/// In place of a time: nothing is younger, so every word is final.
pub(crate) const ALL_FINAL: u64 = u64::MAX;

/// The default limit in precise time, ns: recording a call takes about a tenth of a microsecond.
pub const PRECISE_NS: u64 = 20_000;

/// A full ring should reach back this far, ns: half as much again as the promised minute, because the pace is
/// known only from the past.
pub(crate) const REACH: u64 = 90_000_000_000;

/// The largest limit, ns: longer calls matter to a frame or a message.
const MAX_LIMIT_NS: u64 = 64_000_000;

/// A limit of 0 is raised to this first, ns.
const FIRST_RAISE_NS: u64 = 1_000_000;

/// The limits of both rings.
#[derive(Debug)]
pub(crate) struct Limits {
    /// The configured limit; [`NOTHING`] if every call is recorded.
    least: AtomicU64,
    /// The largest limit that was ever in force: younger words may still be retracted.
    largest: AtomicU64,
    /// How far apart ticks are, ns.
    tick: AtomicU64,
}

static LIMITS: Limits =
    Limits { least: AtomicU64::new(NOTHING), largest: AtomicU64::new(0), tick: AtomicU64::new(1_000_000) };

/// From here on calls that take at most `limit` ns are left out; [`NOTHING`]: no call is. `tick` is the
/// interval of coarse time.
pub(crate) fn set(limit: u64, tick: Duration) {
    LIMITS.tick.store(tick.as_nanos() as u64, Ordering::Relaxed);
    set_limit(limit);
}

/// As `set`, while recording, without a change of the tick.
pub fn set_limit(limit: u64) {
    LIMITS.least.store(limit, Ordering::Relaxed);
    for ring in [&TIME.fold_main, &TIME.fold_others] {
        LIMITS.put(ring, limit);
    }
}

/// Whether calls are left out because they are too short.
pub(crate) fn leaves_out() -> bool {
    LIMITS.least.load(Ordering::Relaxed) != NOTHING
}

impl Limits {
    fn put(&self, ring: &sync::AtomicU64, limit: u64) {
        if limit != NOTHING {
            self.largest.fetch_max(limit, Ordering::SeqCst);
        }
        ring.store(limit, Ordering::SeqCst);
    }
}

/// The interval of coarse time.
pub(crate) fn tick() -> Duration {
    Duration::from_nanos(LIMITS.tick.load(Ordering::Relaxed))
}

/// Words that are older than this, BOOTTIME ns, are not retracted any more.
pub(crate) fn horizon() -> u64 {
    // After the caller's load of the block: what was written before has this time or an earlier one.
    sync::fence(Ordering::SeqCst);
    let least = LIMITS.least.load(Ordering::Relaxed);
    if least == NOTHING && LIMITS.largest.load(Ordering::Relaxed) == 0 {
        return ALL_FINAL;
    }
    let now = match TIME.word.load(Ordering::SeqCst) {
        READ_CLOCK => super::now(),
        _ => TIME.high.load(Ordering::SeqCst),
    };
    // And before the words are loaded.
    sync::fence(Ordering::SeqCst);
    let margin = 2 * LIMITS.tick.load(Ordering::Relaxed).max(1_000_000);
    now.saturating_sub(LIMITS.largest.load(Ordering::SeqCst) + margin)
}

/// Keeps a ring from being overwritten too soon, by its limit. On the ticker's thread.
#[derive(Debug)]
pub(crate) struct Reach {
    limits: &'static Limits,
    /// The limit of the ring.
    limit: &'static sync::AtomicU64,
    /// Words that it has room for.
    words: u64,
    /// Blocks that were opened at the last update, and its time.
    seen: u64,
    at: u64,
    /// Words that are written in [`REACH`] at the recent pace.
    pace: u64,
}

impl Reach {
    /// `limit` is that of the ring, which has room for `words` words.
    pub(crate) fn new(limit: &'static sync::AtomicU64, words: u64, now: u64) -> Self {
        Self { limits: &LIMITS, limit, words, seen: 0, at: now, pace: 0 }
    }

    /// Updates the limit: `opened` blocks of `block` words were opened so far.
    pub(crate) fn update(&mut self, opened: u64, block: u64, now: u64) {
        let least = self.limits.least.load(Ordering::Relaxed);
        let passed = now.saturating_sub(self.at);
        if least == NOTHING || passed < 500_000_000 {
            return;
        }
        let written = (opened - self.seen) * block;
        (self.seen, self.at) = (opened, now);
        let pace = (u128::from(written) * u128::from(REACH) / u128::from(passed)) as u64;
        // Averaged over the last few seconds: a burst is no pace.
        self.pace = (self.pace * 3 + pace) / 4;
        let limit = self.limit.load(Ordering::Relaxed);
        if self.pace > self.words && pace > self.words {
            self.limits.put(self.limit, (limit * 2).clamp(FIRST_RAISE_NS, MAX_LIMIT_NS).max(least));
        } else if self.pace < self.words / 4 && limit > least {
            self.limits.put(self.limit, if limit <= FIRST_RAISE_NS { least } else { (limit / 2).max(least) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_fills_too_fast_gets_a_larger_limit_and_loses_it_when_it_is_calm() {
        // Not the process's own limits: other tests copy words meanwhile.
        let zero = || AtomicU64::new(0);
        let limits: &Limits = Box::leak(Box::new(Limits { least: zero(), largest: zero(), tick: zero() }));
        let own: &AtomicU64 = Box::leak(Box::new(zero()));
        let mut reach = Reach { limits, limit: own, words: 1_000_000, seen: 0, at: 0, pace: 0 };
        let limit = || own.load(Ordering::Relaxed);
        let (mut now, mut opened) = (0, 0);
        let mut pass = |blocks: u64| {
            now += 1_000_000_000;
            opened += blocks;
            reach.update(opened, 1_000, now);
        };
        // 10,000 words a second fit.
        (0..20).for_each(|_| pass(10));
        assert_eq!(limit(), 0);
        (0..20).for_each(|_| pass(100));
        assert_eq!(limit(), MAX_LIMIT_NS);
        (0..40).for_each(|_| pass(1));
        assert_eq!(limit(), 0);
        limits.least.store(NOTHING, Ordering::Relaxed);
        own.store(NOTHING, Ordering::Relaxed);
        (0..20).for_each(|_| pass(1_000));
        assert_eq!(limit(), NOTHING);
    }
}
