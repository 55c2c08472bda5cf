//! Profiles a recording: per thread the heaviest path of calls, the methods with the most self time, and the
//! waits.
//!
//! The profile comes from the recorded calls. The time between two events is that of the innermost open call,
//! so the profile has the resolution of the recording's clock, and a call too short to be recorded counts for
//! its caller. Times are wall-clock times, whether a thread computes or sleeps.

mod text;
pub(crate) mod tree;
mod walk;

use std::collections::HashMap;

use serde::Serialize;
use trace_format::event::{CallId, Wait, WaitKind, types};
use trace_format::{ReadError, Recording, Source, ids};

use crate::facts::{Facts, Payload, kind_name, typed};
use crate::method_map::MethodMap;
use crate::model::{Names, wait_name};
use tree::{CallTree, ROOT};
use walk::{ThreadTime, walk};

pub(crate) use text::path_line;
pub use text::{share, time};

/// Number of methods listed by self time.
const MAX_HOTTEST: usize = 3;

/// The path ends if the next call has less than one in this many parts of the thread's time.
const PATH_ENDS: u64 = 4;

/// The profile of a recording.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// Threads with recorded calls; most time outside of waits first.
    pub threads: Vec<ThreadProfile>,
    /// Start of the recording, or of the part that is profiled, BOOTTIME ns.
    pub begin: u64,
    /// The last moment recorded, BOOTTIME ns.
    pub end: u64,
    /// Number of events present.
    pub events: u64,
    /// Number of words that were overwritten, lost, or found no free block.
    pub missing: u64,
}

/// The profile of one thread. Times are in ns.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadProfile {
    /// Its name, empty if unknown.
    pub name: String,
    /// Its kernel thread id.
    pub tid: u32,
    /// From its first event, whether present or not, to its end.
    pub lifetime: u64,
    /// The part of [`ThreadProfile::lifetime`] that the present events cover.
    pub covered: u64,
    /// Time in recorded calls, including waits.
    pub in_calls: u64,
    /// Time in recorded waits.
    pub waited: u64,
    /// Approximate number of calls too short to be recorded.
    pub too_short: u64,
    /// The heaviest path, outermost call first. A recursive method occurs once.
    pub path: Vec<PathCall>,
    /// The methods with the most self time, and that time.
    pub hottest: Vec<(String, u64)>,
}

/// One call of a path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PathCall {
    /// The method, or what it waited for.
    pub name: String,
    /// Total time, including callees, ns.
    #[serde(rename = "total_ns")]
    pub total: u64,
    /// Self time, ns.
    #[serde(rename = "self_ns")]
    pub own: u64,
}

impl Profile {
    /// Reads a recording once. `map` provides the names if it belongs to the recording.
    ///
    /// # Errors
    /// If reading fails.
    pub fn build(recording: &Recording<dyn Source + '_>, map: &MethodMap) -> Result<Self, ReadError> {
        Self::since(recording, map, 0)
    }

    /// As [`Self::build`], for the time from `from` on, BOOTTIME ns. A call that was open then counts from then on.
    ///
    /// # Errors
    /// If reading fails.
    pub fn since(
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
        from: u64,
    ) -> Result<Self, ReadError> {
        let names = Names::of(recording, map);
        let facts = Facts::of(recording)?;
        let mut walked = Vec::new();
        for thread in recording.threads().iter().filter(|thread| thread.ended == 0 || thread.ended > from) {
            let found = walk(facts.spans(thread), from)?;
            if found.has_time() {
                walked.push((thread, found));
            }
        }
        let end = crate::facts::last_moment(recording, walked.iter().map(|(_, found)| found.now));
        let mut missing = recording.header().dropped;
        let mut events = 0_u64;
        let mut threads: Vec<ThreadProfile> = Vec::new();
        for (thread, mut found) in walked {
            let ended = if thread.ended > 0 { thread.ended } else { end };
            found.finish(ended);
            events += found.events;
            // What was overwritten is older than the first event that is left.
            let overwritten = if found.first_left < from { 0 } else { thread.overwritten() };
            missing = missing.saturating_add(overwritten).saturating_add(found.lost);
            // A thread starts a little before its first event is written; that is not a missing event.
            let all = overwritten == 0 || thread.started == 0;
            let first = found.first.unwrap_or(found.now);
            let began = if all { first } else { thread.started.min(first).max(from) };
            let lifetime = found.now.saturating_sub(began);
            let name = answers::text::clean(thread.name.as_deref().unwrap_or_default()).into_owned();
            threads.push(of_thread(&found, &names, name, thread.tid, lifetime));
        }
        threads.sort_by_key(|t| std::cmp::Reverse((t.in_calls - t.waited, t.in_calls)));
        let begin = recording.header().start.boottime.max(from);
        Ok(Self { threads, begin, end, events, missing })
    }

    /// The part of all threads' lifetimes that the present events cover, 0 to 1; 1 if there are no threads.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        let sum = |of: fn(&ThreadProfile) -> u64| self.threads.iter().map(|t| of(t) as f64).sum::<f64>();
        let lifetime = sum(|t| t.lifetime);
        if lifetime > 0.0 { (sum(|t| t.covered) / lifetime).min(1.0) } else { 1.0 }
    }
}

fn of_thread(walked: &ThreadTime, names: &Names<'_>, name: String, tid: u32, lifetime: u64) -> ThreadProfile {
    let tree = &walked.tree;
    let totals = tree.totals();
    let in_calls = totals[ROOT as usize] - tree.own(ROOT);
    let mut own: HashMap<u32, u64> = HashMap::new();
    for node in tree.nodes().filter(|node| *node != ROOT) {
        let key = tree.key(node);
        if wait_of(key).is_none() {
            *own.entry(key).or_default() += tree.own(node);
        }
    }
    let mut hottest: Vec<(u32, u64)> = own.into_iter().filter(|(_, own)| *own > 0).collect();
    // Equal times are sorted by number: the order of a hash table varies.
    hottest.sort_unstable_by_key(|(key, own)| (std::cmp::Reverse(*own), *key));
    hottest.truncate(MAX_HOTTEST);
    ThreadProfile {
        name,
        tid,
        lifetime,
        covered: walked.covered,
        in_calls,
        waited: waited(tree),
        too_short: walked.too_short,
        path: path(tree, names),
        hottest: hottest.into_iter().map(|(key, own)| (name_of(names, key), own)).collect(),
    }
}

/// The time in recorded waits, ns.
pub(crate) fn waited(tree: &CallTree) -> u64 {
    let waits = tree.nodes().filter(|node| *node != ROOT && wait_of(tree.key(*node)).is_some());
    waits.map(|node| tree.own(node)).sum()
}

/// The heaviest path of calls, outermost first.
pub(crate) fn path(tree: &CallTree, names: &Names<'_>) -> Vec<PathCall> {
    let totals = tree.totals();
    let step = |node: u32| PathCall {
        name: name_of(names, tree.key(node)),
        total: totals[node as usize],
        own: tree.own(node),
    };
    heaviest_path(tree, &totals).into_iter().map(step).collect()
}

/// From the outermost call inwards, always the child with the most time, until that is small, or less than the
/// call's self time.
fn heaviest_path(tree: &CallTree, totals: &[u64]) -> Vec<u32> {
    let mut heaviest: Vec<Option<u32>> = vec![None; totals.len()];
    for node in tree.nodes().filter(|node| *node != ROOT) {
        let best = &mut heaviest[tree.parent(node) as usize];
        if best.is_none_or(|best| totals[node as usize] > totals[best as usize]) {
            *best = Some(node);
        }
    }
    let whole = totals[ROOT as usize] - tree.own(ROOT);
    let mut path = Vec::new();
    let mut at = ROOT;
    while let Some(next) = heaviest[at as usize] {
        let total = totals[next as usize];
        let own = if at == ROOT { 0 } else { tree.own(at) };
        if total == 0 || total < whole / PATH_ENDS || total < own {
            break;
        }
        path.push(next);
        at = next;
    }
    path
}

/// The key of an item in the tree. A wait has its kind or call above the bits of an id.
pub(crate) fn tree_key(key: u32, payload: Option<&Payload>) -> u32 {
    match payload {
        Some(Payload::Wait(wait)) => wait_number(wait) << 20 | key,
        _ => key,
    }
}

/// First number of a call, above the numbers of kinds.
const FIRST_CALL: u32 = 16;

/// A number of 12 bits: the kind, or of a blocking call that has a name the call.
fn wait_number(wait: &Wait) -> u32 {
    match wait.kind {
        WaitKind::Blocking if wait.call.name().is_some() => (FIRST_CALL + wait.call.0).min(0xFFF),
        kind => kind.number().min(FIRST_CALL - 1),
    }
}

fn wait_of(key: u32) -> Option<(WaitKind, CallId)> {
    (key & 0xF_FFFF == typed(types::WAIT)).then(|| match key >> 20 {
        kind @ 0..FIRST_CALL => (WaitKind::from(kind), CallId(0)),
        call => (WaitKind::Blocking, CallId(call - FIRST_CALL)),
    })
}

fn name_of(names: &Names<'_>, key: u32) -> String {
    if let Some((kind, call)) = wait_of(key) {
        return wait_name(kind, call).into_owned();
    }
    if ids::is_method(key) || key == ids::DISPATCH {
        return names.method(key).into_owned();
    }
    kind_name(key).to_owned()
}

#[cfg(test)]
mod tests;
