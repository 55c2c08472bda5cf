//! Samples of main's stack in a message that is older than `sample_from_ms`. They make a flame graph of the
//! message, including code that is not instrumented. Nothing is sampled otherwise.
//!
//! They are recorded about once a second in the form of [`trace_format::sections::stack_samples`], and once
//! more when the message ends, so that a stall that ends in a kill has its samples up to the last second.
//! The newest one of a message is kept for a report whose own stack came too late or not at all.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use trace_format::section::SectionKind;
use trace_format::sections::stack_samples::Writer;
use trace_format::time::{MS, SECOND};

use crate::files::worker;
use crate::monitors::config::options::{Setting, number};
use crate::monitors::stacks::sampler::Answer;
use crate::unpoisoned::lock;

/// The most samples of one message at the full rate; later ones come a second apart.
const FULL_RATE: u32 = 300;
/// The most samples of one message: a stall of hours must not fill the disk.
const MAX_SAMPLES: u32 = 900;
/// The allowance for samples of messages younger than a second; it grows by one every [`REFILL_NS`]. So an
/// app whose every message lasts 400 ms does not fill the disk either, and a message that hangs loses no
/// samples to the others.
const ALLOWED_EARLY: u64 = 300;
const REFILL_NS: u64 = 10 * SECOND;
/// A section is written when it has this many bytes or is a second old.
const SECTION_BYTES: usize = 64 << 10;

/// Whether a debugger was attached at the last sample.
static DEBUGGER: AtomicBool = AtomicBool::new(false);

static COLLECTED: Mutex<Collected> = Mutex::new(Collected::new(0));

struct Collected {
    /// When the message began.
    since_ns: u64,
    /// Time of the first sample of the section, ns.
    first_ns: u64,
    /// Samples that are not written yet, and the newest sample.
    samples: Writer,
}

/// The sampling rate. Owned by the timer thread.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    since_ns: u64,
    last_ns: u64,
    asked: u32,
    early: Early,
}

/// The used part of the allowance for messages younger than a second.
#[derive(Debug, Default)]
struct Early {
    used: u64,
    refilled_ns: u64,
}

impl Early {
    fn take(&mut self, now_ns: u64) -> bool {
        let more = now_ns.saturating_sub(self.refilled_ns) / REFILL_NS;
        self.used = self.used.saturating_sub(more);
        self.refilled_ns += more * REFILL_NS;
        let allowed = self.used < ALLOWED_EARLY;
        self.used += u64::from(allowed);
        allowed
    }
}

impl Rate {
    /// Whether a sample is due at `now_ns` in the message that began at `since_ns`.
    pub(crate) fn is_sample_due(&mut self, since_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(since_ns) >= number(Setting::SampleFromMs) * 1_000_000
            && self.is_due(since_ns, now_ns, number(Setting::SampleMs))
    }

    /// Whether one of the samples `every_ms` apart is due at `now_ns` in the message that began at `since_ns`; 0: none is.
    pub(crate) fn is_due(&mut self, since_ns: u64, now_ns: u64, every_ms: u64) -> bool {
        if self.since_ns != since_ns {
            (self.since_ns, self.last_ns, self.asked) = (since_ns, 0, 0);
        }
        let every_ns = (every_ms * MS).max(if self.asked < FULL_RATE { 0 } else { SECOND });
        if every_ms == 0 || self.asked >= MAX_SAMPLES || now_ns.saturating_sub(self.last_ns) < every_ns {
            return false;
        }
        if now_ns.saturating_sub(since_ns) < SECOND && !self.early.take(now_ns) {
            return false;
        }
        self.last_ns = now_ns;
        self.asked += 1;
        true
    }
}

/// Whether a debugger was attached at the last sample.
pub(crate) fn debugger() -> bool {
    DEBUGGER.load(Ordering::Relaxed)
}

/// Adds a sample. It is discarded unless main is still in the same message (`still`).
pub(crate) fn taken(since_ns: u64, answer: Answer, still: bool) {
    DEBUGGER.store(answer.debugger, Ordering::Relaxed);
    if answer.stack.is_empty() || !still {
        return;
    }
    let mut collected = lock(&COLLECTED);
    if collected.since_ns != since_ns {
        collected.flush();
        *collected = Collected::new(since_ns);
    }
    collected.add(answer.at_ns, answer.stack);
    if collected.samples.text().len() >= SECTION_BYTES || answer.at_ns - collected.first_ns >= SECOND {
        collected.flush();
    }
}

/// Writes the collected samples into the recording.
pub(crate) fn flush() {
    lock(&COLLECTED).flush();
}

/// The newest sample of the message that began at `since_ns`.
pub(crate) fn newest(since_ns: u64) -> Option<String> {
    let collected = lock(&COLLECTED);
    Some(collected.samples.last())
        .filter(|last| collected.since_ns == since_ns && !last.is_empty())
        .map(str::to_owned)
}

impl Collected {
    const fn new(since_ns: u64) -> Self {
        Self { since_ns, first_ns: 0, samples: Writer::new() }
    }

    fn add(&mut self, at_ns: u64, stack: String) {
        if self.samples.text().is_empty() {
            self.first_ns = at_ns;
        }
        self.samples.sample(at_ns, stack);
    }

    fn flush(&mut self) {
        if !self.samples.text().is_empty() {
            worker::append(SectionKind::StackSamples, self.samples.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_interval_thin_out_and_end() {
        let mut rate = Rate::default();
        assert!(!rate.is_due(1, 2_000 * MS, 0), "none are wanted");
        assert!(rate.is_due(1, 2_000 * MS, 66));
        assert!(!rate.is_due(1, 2_065 * MS, 66));
        assert!(rate.is_due(1, 2_066 * MS, 66));
        assert!(rate.is_due(5, 2_067 * MS, 66), "another message");
        let due = (0..1_000_000u64).filter(|ms| rate.is_due(7, (10_000 + ms) * MS, 10)).count();
        assert_eq!(due, MAX_SAMPLES as usize);
        let mut rate = Rate::default();
        let in_time = |rate: &mut Rate, seconds: u64| {
            (0..seconds * 1_000).filter(|ms| rate.is_due(7, (10_000 + ms) * MS, 10)).count()
        };
        assert_eq!(in_time(&mut rate, 3), 300);
        assert_eq!(in_time(&mut Rate::default(), 13), 300 + 10);
    }

    #[test]
    fn long_messages_share_an_allowance_that_a_stalled_one_does_not_need() {
        let mut rate = Rate::default();
        // Ten minutes of messages of half a second, 4 samples each.
        let messages = (0..1_200u64).map(|n| (1 + n * 500) * MS);
        let taken = messages.flat_map(|begun| [300, 366, 432, 498].map(|age| (begun, begun + age * MS)));
        let taken = taken.filter(|(begun, now)| rate.is_due(*begun, *now, 66)).count();
        assert!((359..=361).contains(&taken), "{taken}");
        let begun = 700_000 * MS;
        let hung = (300..3_000).filter(|age| rate.is_due(begun, begun + age * MS, 66)).count();
        assert!(hung >= 30, "{hung}");
    }
}
