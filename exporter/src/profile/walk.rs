//! Converts one thread's events to time in a call tree.

use trace_format::{Event, ReadError};

use super::tree::{CallTree, ROOT};
use super::tree_key;
use crate::facts::{Change, Spans};

/// The result for a thread.
#[derive(Debug, Default)]
pub(super) struct ThreadTime {
    pub(super) tree: CallTree,
    pub(super) events: u64,
    /// Number of words missing between others.
    pub(super) lost: u64,
    /// Time of the first present event.
    pub(super) first_left: u64,
    /// Time of the first counted event.
    pub(super) first: Option<u64>,
    /// Time up to which the tree is complete.
    pub(super) now: u64,
    /// Time that the events cover.
    pub(super) covered: u64,
    pub(super) too_short: u64,
}

impl ThreadTime {
    /// Whether any time counts: there was an event, or a call is still open.
    pub(super) fn has_time(&self) -> bool {
        self.events > 0 || self.tree.innermost() != ROOT
    }

    /// Counts the time since the last change for the innermost call, unless events are missing in between.
    fn pass(&mut self, time: u64, from: u64, gap: bool) {
        self.first_left = self.first_left.min(time);
        if time >= from {
            self.first.get_or_insert(if gap { time } else { self.now.max(from) });
            if !gap {
                let since = time.saturating_sub(self.now.max(from));
                self.tree.spend(since);
                self.covered += since;
            }
        }
        self.now = time;
    }

    /// Ends at `end`: open calls continue until then.
    pub(super) fn finish(&mut self, end: u64) {
        let rest = end.saturating_sub(self.now);
        self.tree.spend(rest);
        self.covered += rest;
        self.now += rest;
    }
}

/// Reads a thread once, and counts from `from` on.
pub(super) fn walk(mut spans: Spans<'_>, from: u64) -> Result<ThreadTime, ReadError> {
    let mut found = ThreadTime { first_left: u64::MAX, ..ThreadTime::default() };
    // Whether the next event ends a gap.
    let mut gap = true;
    while let Some((change, _)) = spans.change()? {
        match change.time() {
            Some(time) => {
                found.pass(time, from, gap);
                gap &= !change.is_recorded();
                found.events += u64::from(change.is_recorded() && time >= from);
            }
            None => gap = true,
        }
        match change {
            Change::Opened { open, payload } => found.tree.open(tree_key(open.key, payload)),
            Change::Closed { .. } => found.tree.close(),
            Change::Lost { words } if found.now >= from => found.lost = found.lost.saturating_add(words),
            Change::Event { time, event: Event::Folded(folded) } if time >= from => {
                found.too_short = found.too_short.saturating_add(folded.calls);
            }
            _ => {}
        }
    }
    if found.events == 0 {
        (found.first, found.now) = (Some(from), from);
    }
    Ok(found)
}
