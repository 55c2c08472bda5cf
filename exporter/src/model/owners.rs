//! Finds what a lock's owner was doing when another thread started to wait for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use trace_format::ReadError;

use super::flows::Flows;
use crate::facts::{Facts, LockWait};

/// Another thread started to wait for a lock that this thread owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnerWait {
    pub(crate) wait: LockWait,
    /// The owner's innermost method when the wait began, if known.
    pub(crate) method: Option<u32>,
    /// The arrow from the wait to the owner, and the one from the release to the waiter.
    pub(crate) flow: u64,
    pub(crate) release: u64,
}

/// Waits for locks with a known owner.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// By the waiting thread and the number of its wait.
    waits: HashMap<(usize, u64), OwnerWait>,
    /// By the owner's thread, sorted by time.
    awaited: HashMap<usize, Vec<OwnerWait>>,
}

impl Owners {
    /// Reads the threads that own locks again.
    pub(crate) fn of(facts: &Facts<'_>, waits: &[LockWait], flows: &Flows) -> Result<Self, ReadError> {
        let mut by_owner: BTreeMap<u32, Vec<&LockWait>> = BTreeMap::new();
        for wait in waits {
            by_owner.entry(wait.owner).or_default().push(wait);
        }
        let mut owners = Self::default();
        for (owner, mut waits) in by_owner {
            let recording = facts.recording;
            let Some(place) = recording.threads().iter().position(|t| t.uid == owner) else { continue };
            let thread = &recording.threads()[place];
            waits.sort_by_key(|wait| wait.begun);
            let awaited = waits.iter().map(|wait| {
                let (flow, release) = (flows.next(), flows.next());
                OwnerWait { wait: **wait, method: None, flow, release }
            });
            let awaited: Vec<OwnerWait> = awaited.collect();
            let mut begun = awaited.iter();
            facts.spans(thread).open_at(waits.iter().map(|wait| wait.begun), |_, open| {
                let Some(known) = begun.next() else { return };
                let owned = OwnerWait { method: open.innermost_method(), ..*known };
                owners.waits.insert((known.wait.thread, known.wait.number), owned);
            })?;
            owners.awaited.insert(place, awaited);
        }
        Ok(owners)
    }

    /// Threads by how long others waited for their locks, the longest first; main's waits come before all
    /// others.
    pub(crate) fn by_weight(&self, main: Option<usize>) -> Vec<usize> {
        let weight = |awaited: &[OwnerWait]| {
            let of = |mains: bool| {
                let some = awaited.iter().filter(|a| (Some(a.wait.thread) == main) == mains);
                some.fold(0_u64, |sum, a| sum.saturating_add(a.wait.duration))
            };
            (of(true), of(false))
        };
        let mut threads: Vec<_> =
            self.awaited.iter().map(|(thread, awaited)| (weight(awaited), *thread)).collect();
        threads.sort_by_key(|(weight, thread)| (Reverse(*weight), *thread));
        threads.into_iter().map(|(_, thread)| thread).collect()
    }

    /// A thread's wait with this number, if its owner is known.
    pub(crate) fn wait(&self, thread: usize, number: u64) -> Option<&OwnerWait> {
        self.waits.get(&(thread, number))
    }

    /// The waits for this thread's locks, by time.
    pub(crate) fn awaited(&self, thread: usize) -> &[OwnerWait] {
        self.awaited.get(&thread).map_or(&[], Vec::as_slice)
    }
}
