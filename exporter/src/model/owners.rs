//! What a lock's owner was doing when somebody began to wait for it.

use std::collections::{BTreeMap, HashMap};

use trace_format::{Event, Item, ReadError, Recording, Source};

use super::stack::OpenStack;
use super::survey::LockWait;

/// The owner's innermost method by (waiting thread, ordinal of its wait).
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<(usize, u64), Option<u32>>);

impl Owners {
    /// Reads the threads that own something once more.
    pub(crate) fn of<S: Source>(recording: &Recording<S>, waits: &[LockWait]) -> Result<Self, ReadError> {
        let mut by_owner: BTreeMap<u32, Vec<&LockWait>> = BTreeMap::new();
        for wait in waits {
            by_owner.entry(wait.owner).or_default().push(wait);
        }
        let mut owners = Self::default();
        let mut stack = OpenStack::new();
        for (owner, mut waits) in by_owner {
            let Some(thread) = recording.threads().iter().find(|t| t.uid == owner) else { continue };
            waits.sort_by_key(|wait| wait.begun);
            let mut next = waits.into_iter().peekable();
            let mut note = |wait: &LockWait, stack: &OpenStack| {
                owners.0.insert((wait.thread, wait.ordinal), stack.innermost_method());
            };
            stack.clear();
            for item in recording.events(thread) {
                let Item::Event { time, event } = item? else { continue };
                while let Some(wait) = next.next_if(|wait| wait.begun < time) {
                    note(wait, &stack);
                }
                if next.peek().is_none() {
                    break;
                }
                match event {
                    Event::Enter(id) => {
                        stack.push(id, time);
                    }
                    Event::Exit(id) => {
                        if let Some(depth) = stack.find(id) {
                            stack.truncate(depth);
                        }
                    }
                    _ => {}
                }
            }
            next.for_each(|wait| note(wait, &stack));
        }
        Ok(owners)
    }

    /// The owner's method at this wait, if it is known.
    pub(crate) fn method(&self, thread: usize, ordinal: u64) -> Option<u32> {
        self.0.get(&(thread, ordinal)).copied().flatten()
    }
}
