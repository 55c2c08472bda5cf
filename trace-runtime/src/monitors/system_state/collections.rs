//! The pauses of a JVM's garbage collector, as its agent reports them: their number and time so far.
//!
//! All threads of the program wait in a pause, so it is time for which the collector blocks them
//! ([`Quantity::BlockingGcTime`]); what a collector does beside the program is not in it. The events come while the JVM stops all
//! threads: they touch three numbers. The ticker's thread, which the JVM does not know and does not stop, looks at them about ten
//! times a second, and adds a poll to the recording when a tenth of a second more was lost: one of before, and one of now. So a
//! program that collects little records nothing, and one that does nothing else a few lines a second.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::section::SectionKind;
use trace_format::sections::system_state::{Quantity, SystemState};

use crate::files::worker;
use crate::monitors::config::options::{self, Setting};
use crate::recorder::Recorder;
use crate::time::clock;
use crate::unpoisoned::lock;

/// The time in pauses that is worth a poll, ns; less is enough where a recording, or a part of it, begins or ends.
const WORTH: u64 = 100_000_000;
const WORTH_AT_ENDS: u64 = 10_000_000;

static PAUSES: AtomicU64 = AtomicU64::new(0);
/// The time of the pauses that have ended, ns.
static PAUSED: AtomicU64 = AtomicU64::new(0);
/// The begin of the pause that is under way, BOOTTIME ns; 0 without one.
static BEGAN: AtomicU64 = AtomicU64::new(0);

static POLLS: Mutex<Polls> = Mutex::new(Polls { seen: None, recorded: Poll { at: 0, pauses: 0, paused: 0 } });

/// Notes that the JVM has stopped all threads for a collection.
pub fn pause_began() {
    BEGAN.store(clock::boottime(), Ordering::Relaxed);
}

/// Notes that the threads go on.
pub fn pause_ended() {
    let began = BEGAN.swap(0, Ordering::Relaxed);
    if began != 0 {
        PAUSED.fetch_add(clock::boottime().saturating_sub(began), Ordering::Relaxed);
        PAUSES.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the time of all pauses until `now`, ns.
#[must_use]
pub fn paused_until(now: u64) -> u64 {
    let began = BEGAN.load(Ordering::Relaxed);
    let under_way = if began == 0 { 0 } else { now.saturating_sub(began) };
    PAUSED.load(Ordering::Relaxed).saturating_add(under_way)
}

/// Records the pauses so far, as at the begin and the end of an attachment and at the end of a program.
pub fn record_pauses() {
    poll(clock::boottime(), WORTH_AT_ENDS);
}

/// Records the pauses so far if they are worth it. On the ticker's thread.
pub(crate) fn poll_if_worth(now: u64) {
    poll(now, WORTH);
}

fn poll(at: u64, worth: u64) {
    if Recorder::active().is_none() || !options::is_enabled(Setting::SystemState) {
        return;
    }
    let mut polls = lock(&POLLS);
    let poll = Poll { at, pauses: PAUSES.load(Ordering::Relaxed), paused: paused_until(at) };
    for poll in polls.take(poll, worth).into_iter().flatten().flatten() {
        let mut state = SystemState::new(poll.at);
        state.set(Quantity::Gcs, Some(poll.pauses));
        state.set(Quantity::BlockingGcTime, Some(poll.paused));
        worker::append(SectionKind::SystemState, state.encode());
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Poll {
    at: u64,
    pauses: u64,
    paused: u64,
}

/// The last poll, and the last one that was recorded.
struct Polls {
    seen: Option<Poll>,
    recorded: Poll,
}

impl Polls {
    /// Returns the polls to record: none, or the one before and this one.
    fn take(&mut self, mut poll: Poll, worth: u64) -> Option<[Option<Poll>; 2]> {
        // Between the end of a pause and its sum, the pause is in neither number.
        poll.paused = poll.paused.max(self.recorded.paused);
        if poll.paused - self.recorded.paused < worth {
            self.seen = Some(poll);
            return None;
        }
        self.recorded = poll;
        Some([self.seen.take(), Some(poll)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_recorded_with_the_one_before_when_pauses_took_long() {
        let mut polls = Polls { seen: None, recorded: Poll { at: 0, pauses: 0, paused: 0 } };
        let poll = |at, paused| Poll { at, pauses: 1, paused };
        assert_eq!(polls.take(poll(10, 1), 5), None);
        assert_eq!(polls.take(poll(20, 3), 5), None);
        assert_eq!(polls.take(poll(30, 8), 5), Some([Some(poll(20, 3)), Some(poll(30, 8))]));
        assert_eq!(polls.take(poll(40, 14), 5), Some([None, Some(poll(40, 14))]));
        assert_eq!(polls.take(poll(50, 13), 5), None, "a pause that has just ended");
        assert_eq!(polls.take(poll(60, 15), 1), Some([Some(poll(50, 14)), Some(poll(60, 15))]));
    }

    #[test]
    fn pauses_under_way_count() {
        pause_began();
        let began = BEGAN.load(Ordering::Relaxed);
        assert_eq!(paused_until(began + 7), 7);
        pause_ended();
        pause_ended();
        assert_eq!((BEGAN.load(Ordering::Relaxed), PAUSES.load(Ordering::Relaxed)), (0, 1));
    }
}
