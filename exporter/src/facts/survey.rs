//! Reads all threads once: finds when the recording ends, and which lock waits need their owner looked up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace_format::android::FRAME_METRICS_DROPPED;
use trace_format::event::{Wait, WaitKind};
use trace_format::{Event, Item, ReadError, Recording, Source};

use super::MAX_TIME;
use super::coverage::CoverageBuilder;
use super::frames::FrameFacts;
use super::rate::Rate;

/// Maximum number of lock waits whose owner is looked up. The longest are kept.
const MAX_LOCK_WAITS: usize = 4096;
/// Maximum nesting of waits on a thread.
pub(super) const MAX_NESTED: usize = 16;

/// The result of the first pass.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Time of the last event of each thread, or 0.
    pub(crate) last: Vec<u64>,
    /// Number of events of each thread.
    pub(crate) events: Vec<u64>,
    /// The recorded part of each thread's time.
    pub(crate) coverage_builder: Vec<CoverageBuilder>,
    /// The rate of the main thread's events.
    pub(crate) main_rate: Rate,
    /// The last moment of the recording.
    pub(crate) end: u64,
    /// Lock waits with a known owner.
    pub(crate) waits: Vec<LockWait>,
    /// What the recording has about main's frames besides their events.
    pub(crate) frames: FrameFacts,
    /// Number of steps of concurrent work.
    pub(crate) steps: u64,
    /// Number of events of unknown types.
    pub(crate) unknown: u64,
}

/// A wait for a monitor with a known owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LockWait {
    /// Its duration; the maximum for an open one.
    pub(crate) duration: u64,
    /// Index of the waiting thread.
    pub(crate) thread: usize,
    /// Index among that thread's waits, from 0.
    pub(crate) ordinal: u64,
    /// When it started.
    pub(crate) begun: u64,
    /// The owner's thread uid.
    pub(crate) owner: u32,
    /// The lock's identity and class.
    pub(crate) lock: (u64, u32),
}

/// The last moment of a recording, from the `last` events of its threads.
pub(crate) fn last_moment<S: Source + ?Sized>(
    recording: &Recording<S>,
    last: impl Iterator<Item = u64>,
) -> u64 {
    let header = recording.header();
    last.chain([header.last_alive, header.start.boottime]).max().unwrap_or(0).min(MAX_TIME)
}

impl Survey {
    /// Reads all threads once. `service` is the time of the last event in the service ring.
    pub(super) fn of<S: Source + ?Sized>(recording: &Recording<S>, service: u64) -> Result<Self, ReadError> {
        let mut waits = Longest::default();
        let mut found = Self::default();
        for (thread, info) in recording.threads().iter().enumerate() {
            let mut now = 0;
            let mut ordinal = 0;
            let mut frame = 0;
            let mut count = 0;
            let mut open: Vec<LockWait> = Vec::new();
            let mut covered = CoverageBuilder::default();
            for item in recording.events(info) {
                let Item::Event { time, event } = item? else {
                    covered.lost();
                    continue;
                };
                covered.event(time);
                now = time;
                count += 1;
                if info.main {
                    found.main_rate.add(time.min(MAX_TIME));
                }
                match event {
                    Event::WaitBegin(Wait { kind, owner, lock, class, .. }) => {
                        // Other waits are only paired with their ends.
                        let owner = if kind == WaitKind::Monitor { owner } else { 0 };
                        if open.len() < MAX_NESTED {
                            let lock = (lock, class.0);
                            open.push(LockWait { duration: 0, thread, ordinal, begun: time, owner, lock });
                        }
                        ordinal += 1;
                    }
                    Event::WaitEnd => {
                        if let Some(wait) = open.pop() {
                            waits.add(LockWait { duration: time - wait.begun, ..wait });
                        }
                    }
                    Event::Concurrency(_) => found.steps += 1,
                    Event::Unknown { .. } => found.unknown += 1,
                    Event::FrameBegin(_) => frame = time,
                    Event::FrameSkipped => found.frames.skip(frame),
                    Event::FrameMetrics(metrics) => found.frames.metrics(metrics),
                    Event::Counter(id, value)
                        if value.is_finite() && recording.texts().get(id) == Some(FRAME_METRICS_DROPPED) =>
                    {
                        // It only grows. A conversion from a float saturates.
                        found.frames.metrics_dropped = found.frames.metrics_dropped.max(value as u64);
                    }
                    Event::InputEvents(input) => found.frames.input(input.intended, input.oldest),
                    _ => {}
                }
            }
            open.into_iter().for_each(|wait| waits.add(LockWait { duration: u64::MAX, ..wait }));
            found.coverage_builder.push(covered);
            found.last.push(now.min(MAX_TIME));
            found.events.push(count);
        }
        found.end = last_moment(recording, found.last.iter().copied().chain([service]));
        found.waits = waits.0.into_iter().map(|Reverse(wait)| wait).collect();
        Ok(found)
    }
}

#[derive(Debug, Default)]
struct Longest(BinaryHeap<Reverse<LockWait>>);

impl Longest {
    fn add(&mut self, wait: LockWait) {
        if wait.owner == 0 {
            return;
        }
        self.0.push(Reverse(wait));
        if self.0.len() > MAX_LOCK_WAITS {
            self.0.pop();
        }
    }
}
