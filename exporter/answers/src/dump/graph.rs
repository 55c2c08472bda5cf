//! The lock graph of a process: who waits for whom, deadlocks, and the chain of owners of a thread.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::address;
use super::lock_line::LockKind;
use super::model::Section;

/// One thread waits for a monitor that another one owns.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edge {
    /// The tid of the waiting thread.
    pub from: u32,
    /// The tid of the owner.
    pub to: u32,
    /// The monitor's identity.
    #[serde(rename = "lock", serialize_with = "address::serialize")]
    pub address: Option<u64>,
    /// The monitor's class.
    #[serde(rename = "lock_class")]
    pub class: Option<String>,
    /// Whether the dump does not name the owner, and it was inferred from its `locked` line: the only thread
    /// that has entered the monitor and is not waiting on it.
    #[serde(skip)]
    pub inferred: bool,
}

/// The lock graph of one process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LockGraph {
    /// One edge per thread that waits for a known owner, in the dump's order.
    pub edges: Vec<Edge>,
    /// Cycles of edges that the dump states: deadlocks. Each starts with its smallest tid.
    pub deadlocks: Vec<Vec<u32>>,
    /// Cycles in which an owner was inferred. ART stops threads one after another, so such a cycle may never
    /// have existed at a single moment.
    pub possible_deadlocks: Vec<Vec<u32>>,
    /// The first edge from each thread, by tid.
    from: HashMap<u32, usize>,
}

impl From<&Section> for LockGraph {
    /// Builds the graph of a process.
    fn from(section: &Section) -> Self {
        let owners = owners(section);
        let mut edges = Vec::new();
        for thread in &section.threads {
            let wants = |kind| {
                matches!(kind, LockKind::WaitingToLock | LockKind::WaitingForClass | LockKind::ParkingFor)
            };
            for lock in thread.locks.iter().filter(|lock| wants(lock.kind)) {
                let Some(from) = thread.tid else { continue };
                let by_line = lock.address.and_then(|address| *owners.get(&address)?);
                let Some(to) = lock.owner.or(by_line) else { continue };
                let inferred = lock.owner.is_none();
                edges.push(Edge { from, to, address: lock.address, class: lock.class.clone(), inferred });
            }
        }
        Self::new(edges)
    }
}

/// The only thread that has entered a monitor and does not wait on it, or owns a synchronizer; `None` if there
/// are two.
pub(super) fn owners(section: &Section) -> HashMap<u64, Option<u32>> {
    let mut owners: HashMap<u64, Option<u32>> = HashMap::new();
    for thread in &section.threads {
        let Some(tid) = thread.tid else { continue };
        let waits = |kind| !matches!(kind, LockKind::Locked | LockKind::Owned);
        let waited: HashSet<u64> =
            thread.locks.iter().filter(|lock| waits(lock.kind)).filter_map(|lock| lock.address).collect();
        let owned = thread.locks.iter().filter(|lock| !waits(lock.kind)).filter_map(|lock| lock.address);
        for address in owned.filter(|address| !waited.contains(address)) {
            owners
                .entry(address)
                .and_modify(|owner| *owner = owner.filter(|o| *o == tid))
                .or_insert(Some(tid));
        }
    }
    owners
}

impl LockGraph {
    /// Maximum length of a chain of owners that a page shows, whether a dump or a recording has it: the owner of a lock, the owner of
    /// the lock that this thread waits for, and so on.
    pub const MAX_CHAIN: usize = 32;

    fn new(edges: Vec<Edge>) -> Self {
        let deadlocks = cycles(edges.iter().filter(|edge| !edge.inferred));
        let mut possible_deadlocks = cycles(edges.iter());
        possible_deadlocks.retain(|cycle| !deadlocks.contains(cycle));
        let from = edges.iter().enumerate().rev().map(|(index, edge)| (edge.from, index)).collect();
        Self { edges, deadlocks, possible_deadlocks, from }
    }

    /// The edge from a thread, if it waits.
    #[must_use]
    pub fn edge_from(&self, tid: u32) -> Option<&Edge> {
        self.edges.get(*self.from.get(&tid)?)
    }

    /// The chain of edges from a thread, at most `max` of them, until a thread that does not wait or was
    /// already passed.
    #[must_use]
    pub fn chain(&self, tid: u32, max: usize) -> Vec<&Edge> {
        let mut passed = HashSet::from([tid]);
        let mut chain = Vec::new();
        let mut at = tid;
        while let Some(edge) = self.edge_from(at).filter(|_| chain.len() < max) {
            chain.push(edge);
            at = edge.to;
            if !passed.insert(at) {
                break;
            }
        }
        chain
    }
}

/// The cycles of the graph; a second wait of the same thread (or of another one with its tid) is ignored.
fn cycles<'a>(edges: impl Iterator<Item = &'a Edge>) -> Vec<Vec<u32>> {
    trace_rules::locks::cycles(edges.map(|edge| (edge.from, edge.to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
        let edge = |&(from, to)| Edge { from, to, address: None, class: None, inferred: false };
        pairs.iter().map(edge).collect()
    }

    #[test]
    fn chains_end_with_a_thread_that_does_not_wait_or_was_passed() {
        let graph = LockGraph::new(edges(&[(1, 2), (2, 3), (4, 5), (5, 4)]));
        let ends = |tid| graph.chain(tid, 9).iter().map(|e| e.to).collect::<Vec<_>>();
        assert_eq!((ends(1), ends(3), ends(4)), (vec![2, 3], vec![], vec![5, 4]));
    }
}
