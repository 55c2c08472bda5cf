//! Flow arrows: from a thread that waits for a lock to its owner, from a message's due time to its dispatch,
//! and from a vsync to its frame.

use std::cell::Cell;

/// Delay from which a message of main gets an arrow, ns.
pub(crate) const MIN_MESSAGE_DELAY: u64 = 100_000_000;
/// Maximum number of arrows of one kind per process. A viewer draws those of one slice at a time, but the file
/// has all.
const MAX_ARROWS: usize = 4096;

/// Allocates arrow numbers, unique in a trace.
#[derive(Debug, Default)]
pub(crate) struct Flows(Cell<u64>);

impl Flows {
    pub(crate) fn next(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

/// A late event: shown as an instant at its intended time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LateEvent {
    pub(crate) at: u64,
    pub(crate) name: String,
    pub(crate) flow: u64,
    /// Its delay, ns.
    pub(crate) late: u64,
}

/// Adds a message that was due at `at`, or a vsync for whose frame that was the time. Returns the arrow's number, if the limit
/// allows.
pub(crate) fn late_event(
    list: &mut Vec<LateEvent>,
    flows: &Flows,
    at: u64,
    late: u64,
    name: impl FnOnce() -> String,
) -> Option<u64> {
    if list.len() >= MAX_ARROWS {
        return None;
    }
    let flow = flows.next();
    list.push(LateEvent { at, name: name(), flow, late });
    Some(flow)
}
