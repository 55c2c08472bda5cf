//! Arrows: from a thread that waits for a lock to the one that has it, from the time a message was due to its dispatch, and
//! from a vsync to the frame that was for it.

use std::cell::Cell;

/// A message that main takes so long after it was due has an arrow, ns.
pub(crate) const LATE_MESSAGE: u64 = 100_000_000;
/// Arrows of one kind in a process. A viewer draws those of one slice at a time, but the file has all.
const MAX_ARROWS: usize = 4096;

/// Numbers for arrows, unique in a trace.
#[derive(Debug, Default)]
pub(crate) struct Flows(Cell<u64>);

impl Flows {
    pub(crate) fn next(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

/// What something late is told by: an instant at the time for which it was meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Meant {
    pub(crate) at: u64,
    pub(crate) name: String,
    pub(crate) flow: u64,
    /// How late it was, ns.
    pub(crate) late: u64,
}

/// What was late in a process.
#[derive(Debug, Default)]
pub(crate) struct Late {
    /// Messages, at the time at which they were due.
    pub(crate) messages: Vec<Meant>,
    /// Vsyncs whose frame was late.
    pub(crate) vsyncs: Vec<Meant>,
}

impl Late {
    /// A message that was due at `at`. The arrow's number, if there is room for it.
    pub(crate) fn message(&mut self, flows: &Flows, at: u64, late: u64, name: &str) -> Option<u64> {
        push(&mut self.messages, flows, at, late, || format!("due: {name}"))
    }

    /// A frame that was meant for the vsync at `at`.
    pub(crate) fn vsync(&mut self, flows: &Flows, at: u64, late: u64, vsync: u64) -> Option<u64> {
        push(&mut self.vsyncs, flows, at, late, || format!("VSYNC {vsync}"))
    }
}

fn push(
    list: &mut Vec<Meant>,
    flows: &Flows,
    at: u64,
    late: u64,
    name: impl FnOnce() -> String,
) -> Option<u64> {
    if list.len() >= MAX_ARROWS {
        return None;
    }
    let flow = flows.next();
    list.push(Meant { at, name: name(), flow, late });
    Some(flow)
}
