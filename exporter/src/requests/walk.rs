//! Reads the steps of one thread, and divides them into requests.

use std::collections::{HashMap, HashSet};

use trace_format::ids;

use super::Requests;
use crate::facts::{Change, Open, Payload};
use crate::profile::tree::CallTree;
use crate::profile::tree_key;

/// Maximum number of slow requests described.
const MAX_SLOW: usize = 10;
/// Maximum number of durations kept for the median and the 95th percentile; later requests only count.
const MAX_DURATIONS: usize = 1 << 21;

/// A request, and where its time went.
#[derive(Debug)]
pub(super) struct Request {
    /// The thread's number in the recording.
    pub(super) thread: usize,
    pub(super) key: u32,
    pub(super) begun: u64,
    pub(super) duration: u64,
    pub(super) ended: bool,
    /// Whether its start is no longer in the recording.
    pub(super) cut: bool,
    /// What was called in it.
    pub(super) tree: CallTree,
}

/// What the walks over all threads have found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The counts so far, with the limit.
    pub(super) so_far: Requests,
    /// The longest slow requests, longest first.
    pub(super) slow: Vec<Request>,
    pub(super) durations: Vec<u64>,
    /// By method.
    pub(super) methods: HashMap<u32, u64>,
}

impl Found {
    fn ended(&mut self, request: Request) {
        *self.methods.entry(request.key).or_default() += 1;
        if request.cut {
            self.so_far.cut += 1;
        } else {
            self.so_far.ended += 1;
            self.so_far.longest = self.so_far.longest.max(request.duration);
            if self.durations.len() < MAX_DURATIONS {
                self.durations.push(request.duration);
            }
        }
        self.offer(request);
    }

    /// A request that had not ended when its thread or the recording did.
    pub(super) fn still_open(&mut self, request: Request, end: u64) {
        *self.methods.entry(request.key).or_default() += 1;
        self.so_far.open += 1;
        let duration = end.saturating_sub(request.begun).max(request.duration);
        self.offer(Request { duration, ..request });
    }

    fn offer(&mut self, request: Request) {
        if request.duration < self.so_far.limit {
            return;
        }
        self.so_far.slow_count += 1;
        // Of equal ones the earlier stays.
        let place = self.slow.partition_point(|known| known.duration >= request.duration);
        self.slow.insert(place, request);
        self.slow.truncate(MAX_SLOW);
    }

    /// The median and the 95th percentile of the durations (nearest rank).
    pub(super) fn ranks(&mut self) -> [u64; 2] {
        let durations = &mut self.durations;
        durations.sort_unstable();
        [50, 95].map(|percent| {
            let rank = (durations.len() * percent).div_ceil(100).max(1);
            durations.get(rank - 1).copied().unwrap_or(0)
        })
    }
}

/// A request that is open.
struct Current {
    request: Request,
    /// Its depth on the thread's stack.
    depth: usize,
}

/// The walk over one thread.
pub(super) struct Walk<'w> {
    thread: usize,
    /// The methods whose calls are requests, at any depth; the outermost calls if `None`.
    wanted: Option<&'w HashSet<u32>>,
    found: &'w mut Found,
    current: Option<Current>,
    now: u64,
}

impl<'w> Walk<'w> {
    pub(super) fn new(thread: usize, wanted: Option<&'w HashSet<u32>>, found: &'w mut Found) -> Self {
        Self { thread, wanted, found, current: None, now: 0 }
    }

    /// Takes a change, while `depth` items are open.
    pub(super) fn change(&mut self, change: &Change<'_>, depth: usize) {
        if let Change::Lost { words } = change {
            self.found.so_far.missing = self.found.so_far.missing.saturating_add(*words);
        }
        let Some(time) = change.time() else { return };
        if let Some(current) = &mut self.current {
            current.request.tree.spend(time.saturating_sub(self.now));
        }
        self.now = time.max(self.now);
        match *change {
            Change::Opened { open, payload } => self.begin(open, payload, depth),
            Change::Closed { until, .. } => self.end(depth - 1, until),
            _ => {}
        }
    }

    fn begin(&mut self, open: Open, payload: Option<&Payload>, depth: usize) {
        let Open { key, begun, before: cut } = open;
        if let Some(current) = &mut self.current {
            current.request.tree.open(tree_key(key, payload));
            return;
        }
        if ids::is_method(key) && self.wanted.map_or(depth == 0, |wanted| wanted.contains(&key)) {
            let tree = CallTree::default();
            let request = Request { thread: self.thread, key, begun, duration: 0, ended: false, cut, tree };
            self.current = Some(Current { request, depth });
        }
    }

    fn end(&mut self, depth: usize, time: u64) {
        let Some(current) = &mut self.current else { return };
        if depth > current.depth {
            current.request.tree.close();
        } else if let Some(Current { mut request, .. }) = self.current.take() {
            request.duration = time.saturating_sub(request.begun);
            request.ended = true;
            self.found.ended(request);
        }
    }

    /// Returns the last moment of the thread, and the request that is open.
    pub(super) fn finish(self) -> (u64, Option<Request>) {
        let now = self.now;
        let open = self.current.map(|current| {
            let duration = now.saturating_sub(current.request.begun);
            Request { duration, ..current.request }
        });
        (now, open)
    }
}
