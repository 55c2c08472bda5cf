//! Reads all threads once: finds when the recording ends, and which lock waits need their owner looked up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace_format::android::FRAME_METRICS_DROPPED;
use trace_format::event::{Wait, WaitKind};
use trace_format::{Event, ReadError, Recording, Source};

use super::coverage::CoverageBuilder;
use super::frames::FrameFacts;
use super::rate::Rate;
use super::{Change, EndedBy, Facts, MAX_TIME, OpenStack, Payload};

/// Maximum number of lock waits whose owner is looked up. The longest are kept.
const MAX_LOCK_WAITS: usize = 4096;

/// The result of the first pass.
#[derive(Debug, Default)]
pub struct Survey {
    /// Time of the last event of each thread, or 0.
    pub(crate) last: Vec<u64>,
    /// Number of events of each thread.
    pub(crate) events: Vec<u64>,
    /// The recorded part of each thread's time.
    pub(crate) coverage_builder: Vec<CoverageBuilder>,
    /// The items that are open on main after its last event.
    pub(crate) main_open: OpenStack,
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
    /// The wait's number on that thread ([`OpenStack::number`](super::OpenStack::number)).
    pub(crate) number: u64,
    /// When it started.
    pub(crate) begun: u64,
    /// The owner's thread uid.
    pub(crate) owner: u32,
    /// The lock's identity and class.
    pub(crate) lock: (u64, u32),
}

/// The last moment of a recording, from the `last` events of its threads.
pub(crate) fn last_moment(recording: &Recording<dyn Source + '_>, last: impl Iterator<Item = u64>) -> u64 {
    let header = recording.header();
    last.chain([header.last_alive, header.start.boottime]).max().unwrap_or(0).min(MAX_TIME)
}

impl Survey {
    /// Reads all threads; `main` takes main's changes, too, so that who wants them need not read them again.
    pub(super) fn of(
        facts: &Facts<'_>,
        mut main: impl FnMut(&Change<'_>, &OpenStack),
    ) -> Result<Self, ReadError> {
        let recording = facts.recording;
        let mut waits = Longest::default();
        let mut found = Self::default();
        let first_main = recording.threads().iter().position(|thread| thread.main);
        for (thread, info) in recording.threads().iter().enumerate() {
            let is_main = first_main == Some(thread);
            let (mut last, mut events) = (0, 0);
            let mut covered = CoverageBuilder::default();
            let mut spans = facts.spans(info);
            while let Some((change, items)) = spans.change()? {
                match change.time() {
                    None => covered.lost(),
                    Some(time) if change.is_recorded() => {
                        covered.event(time);
                        (last, events) = (time, events + 1);
                        if info.main {
                            found.main_rate.add(time.min(MAX_TIME));
                        }
                    }
                    Some(_) => {}
                }
                if is_main {
                    main(&change, items);
                }
                match change {
                    Change::Closed { open, payload: Some(Payload::Wait(wait)), until, .. }
                        if Longest::takes(wait) =>
                    {
                        let number = items.number(items.depth() - 1).unwrap_or_default();
                        waits.add(thread, number, open.begun, Some(until), wait);
                    }
                    Change::Closed { open, by: EndedBy::Skipped, .. } => found.frames.skip(open.begun),
                    Change::Event { event, .. } => found.event(recording, event),
                    _ => {}
                }
            }
            for (number, begun, wait) in spans.open().waits().filter(|(.., wait)| Longest::takes(wait)) {
                waits.add(thread, number, begun, None, &wait);
            }
            if is_main {
                found.main_open = spans.into_open();
            }
            found.coverage_builder.push(covered);
            found.last.push(last.min(MAX_TIME));
            found.events.push(events);
        }
        found.end = last_moment(recording, found.last.iter().copied().chain([facts.last_of_service]));
        found.waits = waits.0.into_iter().map(|Reverse(wait)| wait).collect();
        Ok(found)
    }

    /// Takes an event that opens and closes nothing.
    fn event(&mut self, recording: &Recording<dyn Source + '_>, event: &Event) {
        match *event {
            Event::Concurrency(_) => self.steps += 1,
            Event::Unknown { .. } => self.unknown += 1,
            Event::FrameMetrics(metrics) => self.frames.metrics(metrics),
            Event::Counter(id, value)
                if value.is_finite() && recording.texts().get(id) == Some(FRAME_METRICS_DROPPED) =>
            {
                // It only grows. A conversion from a float saturates.
                self.frames.metrics_dropped = self.frames.metrics_dropped.max(value as u64);
            }
            Event::InputEvents(input) => self.frames.input(input.intended, input.oldest),
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
struct Longest(BinaryHeap<Reverse<LockWait>>);

impl Longest {
    /// Returns true for the wait for a lock whose owner is known.
    fn takes(wait: &Wait) -> bool {
        wait.kind == WaitKind::Monitor && wait.owner != 0
    }

    fn add(&mut self, thread: usize, number: u64, begun: u64, ended: Option<u64>, wait: &Wait) {
        let duration = ended.map_or(u64::MAX, |ended| ended - begun);
        let (owner, lock) = (wait.owner, (wait.lock, wait.class.0));
        self.0.push(Reverse(LockWait { duration, thread, number, begun, owner, lock }));
        if self.0.len() > MAX_LOCK_WAITS {
            self.0.pop();
        }
    }
}
