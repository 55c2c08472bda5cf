//! Converts one thread's events to time in a call tree.

use trace_format::event::OpenCalls;
use trace_format::{Event, Events, Item, ReadError, Source};

use super::tree::{CallTree, ROOT};
use super::wait_key;
use crate::facts::{OpenStack, begins, ends, still_open};

/// The key of a call of which only the depth is known. No method has this id.
pub(super) const UNKNOWN_CALL: u32 = 0;

/// Maximum number of open calls taken from a block's list. A damaged one may declare any number.
const MAX_LISTED: u32 = 1 << 16;

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
    pub(super) first: u64,
    /// Time up to which the tree is complete.
    pub(super) now: u64,
    /// Time that the events cover.
    pub(super) covered: u64,
    pub(super) too_short: u64,
    /// The node of the innermost open call; [`ROOT`] outside of calls.
    at: u32,
}

impl ThreadTime {
    /// Whether any time counts: there was an event, or a call is still open.
    pub(super) fn has_time(&self) -> bool {
        self.events > 0 || self.at != ROOT
    }

    /// Ends at `end`: open calls continue until then.
    pub(super) fn finish(&mut self, end: u64) {
        let rest = end.saturating_sub(self.now);
        self.tree.add(self.at, rest);
        self.covered += rest;
        self.now += rest;
    }
}

/// Reads a thread once, and counts from `from` on. `stack` is working memory.
pub(super) fn walk<S: Source + ?Sized>(
    events: Events<'_, S>,
    stack: &mut OpenStack,
    from: u64,
) -> Result<ThreadTime, ReadError> {
    stack.clear();
    let mut found = ThreadTime { first_left: u64::MAX, ..ThreadTime::default() };
    // The nodes of the open items, one for each stack entry.
    let mut nodes: Vec<u32> = Vec::new();
    // Whether the calls listed at a block's start are needed: at the first block, and after a gap.
    let mut needs_list = true;
    // Whether one of the lists has been read.
    let mut listed = false;
    // Whether the next event ends a gap.
    let mut gap = true;
    for item in events {
        let (time, event) = match item? {
            Item::Event { time, event } => (time, event),
            Item::Lost { words } => {
                if found.now >= from {
                    found.lost = found.lost.saturating_add(words);
                }
                (gap, needs_list, listed) = (true, true, false);
                continue;
            }
            Item::Fault(_) => {
                (gap, needs_list, listed) = (true, true, false);
                continue;
            }
        };
        found.first_left = found.first_left.min(time);
        if time >= from {
            if found.events == 0 {
                found.first = if gap { time } else { found.now.max(from) };
            }
            found.events += 1;
            if !gap {
                let since = time.saturating_sub(found.now.max(from));
                found.tree.add(found.at, since);
                found.covered += since;
            }
        }
        gap = false;
        found.now = time;
        match event {
            Event::OpenCalls(open) => {
                if needs_list {
                    if !std::mem::replace(&mut listed, true) {
                        stack.clear();
                    }
                    list(&open, stack, &mut nodes, &mut found.tree);
                    found.at = nodes.last().copied().unwrap_or(ROOT);
                }
                continue;
            }
            Event::LostEnd(end) => {
                let depth = still_open(stack.frames().iter().map(|open| open.key), end);
                stack.truncate(depth);
                nodes.truncate(depth);
                found.at = nodes.last().copied().unwrap_or(ROOT);
                continue;
            }
            Event::Folded(folded) if time >= from => {
                found.too_short = found.too_short.saturating_add(folded.calls);
            }
            _ => {}
        }
        needs_list = false;
        if let Some(key) = begins(&event) {
            let tree_key = match event {
                Event::WaitBegin(wait) => wait_key(wait.kind),
                _ => key,
            };
            if stack.push(key, time) {
                nodes.push(found.tree.call(found.at, tree_key));
            }
        } else if let Some(key) = ends(&event) {
            // Its start may be lost. It may have been any of the calls without a name.
            let depth = stack.find(key).or_else(|| {
                stack.frames().last().filter(|open| open.key == UNKNOWN_CALL).map(|_| stack.depth() - 1)
            });
            if let Some(depth) = depth {
                stack.truncate(depth);
                nodes.truncate(depth);
            }
        }
        found.at = nodes.last().copied().unwrap_or(ROOT);
    }
    if found.events == 0 {
        (found.first, found.now) = (from, from);
    }
    Ok(found)
}

/// Adds the calls that were open when a block started, except those that an earlier list of the same block has.
fn list(open: &OpenCalls, stack: &mut OpenStack, nodes: &mut Vec<u32>, tree: &mut CallTree) {
    let depth = open.depth.min(MAX_LISTED) as usize;
    let mut keys: Vec<u32> = stack.frames().iter().map(|open| open.key).collect();
    keys.resize(depth, UNKNOWN_CALL);
    for (key, id) in keys.iter_mut().skip(open.first as usize).zip(open.ids()) {
        *key = id;
    }
    stack.clear();
    nodes.clear();
    let mut at = ROOT;
    for key in keys {
        if stack.push(key, 0) {
            at = tree.call(at, key);
            nodes.push(at);
        }
    }
}
