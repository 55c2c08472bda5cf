//! What holds a wait up if it is no deadlock: the only thread that could end it, or the only pool, all of whose threads are in one
//! call or wait for one lock.

use super::awaited::Awaited;
use super::link::DumpedLink;
use super::pools::{Does, Seen};
use super::{Chain, DumpedWhy, MAX_LINKS, Step, related};
use crate::dump::{LockGraph, Thread};

impl<'a> Chain<'a> {
    /// The chain with what holds the wait up; `None` if the dump does not show that and has no more links.
    pub(super) fn busy(
        &self,
        step: Step<'a>,
        candidates: &[&Seen<'a>],
        mut links: Vec<DumpedLink>,
    ) -> Option<DumpedWhy> {
        let known = links.len() > 1;
        let shown = |links| Some(DumpedWhy { links, found: None, cycle: false });
        let guesses = step.awaited == Awaited::Join && self.joined(&step).is_none();
        if step.awaited.is_vague() || step.awaited == Awaited::Latch {
            return known.then(|| shown(links)).flatten();
        }
        // A thread that waits for the same object as the waiter does not run it.
        let object = step.waiter.parked_for();
        let runs_it = |seen: &&&Seen<'a>| match step.awaited {
            _ if object.is_some() && seen.thread.parked_for() == object => false,
            // Any code may complete such a future: only a stage is known to be made for it.
            Awaited::OpenFuture => seen.runs_a_stage,
            Awaited::Stream => seen.runs_a_stream,
            Awaited::Coroutine => seen.pool.is_some(),
            _ => true,
        };
        let others: Vec<&Seen<'a>> = candidates.iter().filter(runs_it).copied().collect();
        let others = self.not_behind(others);
        if let [one] = others[..]
            && let Does::Waits(awaited) = one.does
        {
            let mut passed = step.passed;
            passed.extend(one.thread.tid);
            if one.thread.tid.is_none() || passed.len() > MAX_LINKS {
                return known.then(|| shown(links)).flatten();
            }
            let step = Step { waiter: one.thread, awaited, passed, guessed: true, blocked: step.blocked };
            let why = self.explain(step, links.clone());
            return why.filter(|why| !guesses || why.found.is_some()).or_else(|| {
                links.push(self.for_a_thread(one.thread, awaited));
                (!guesses).then(|| shown(links)).flatten()
            });
        }
        if guesses {
            return known.then(|| shown(links)).flatten();
        }
        let further = self.same_place(&others);
        if further.is_empty() && !known {
            return None;
        }
        links.extend(further);
        shown(links)
    }

    /// The threads that wait for no lock which another one of them owns.
    fn not_behind<'s>(&self, threads: Vec<&'s Seen<'a>>) -> Vec<&'s Seen<'a>> {
        let tids: Vec<u32> = threads.iter().filter_map(|seen| seen.thread.tid).collect();
        let is_behind = |seen: &&Seen<'a>| {
            let Some(tid) = seen.thread.tid else { return false };
            let owners = self.graph.chain(tid, LockGraph::MAX_CHAIN);
            owners.iter().any(|edge| edge.to != tid && tids.contains(&edge.to))
        };
        threads.iter().copied().filter(|seen| !is_behind(seen)).collect()
    }

    /// The threads that are all in one call, or wait for one lock, and the owners of this lock.
    fn same_place(&self, others: &[&Seen<'a>]) -> Vec<DumpedLink> {
        let Some(first) = others.first() else { return Vec::new() };
        let same_pool = others.iter().all(|seen| seen.pool == first.pool && seen.does == Does::Works);
        if !same_pool || others.len() > 1 && first.pool.is_none() {
            return Vec::new();
        }
        let threads: Vec<&Thread> = others.iter().map(|seen| seen.thread).collect();
        let share = first.pool.map(|pool| self.share(pool));
        let lock = |seen: &Seen<'_>| {
            let edge = self.graph.edge_from(seen.thread.tid?)?;
            Some((edge.to, edge.address))
        };
        let Some((owner, _)) = lock(first) else {
            let place = related::place(first.thread);
            let same = others.iter().all(|seen| lock(seen).is_none() && related::place(seen.thread) == place);
            return vec![if same { self.in_a_call(&threads, share) } else { self.in_calls(&threads, share) }];
        };
        if others.iter().any(|seen| lock(seen) != lock(first)) {
            return vec![self.in_calls(&threads, share)];
        }
        let mut links = vec![self.for_a_lock(&threads, share)];
        let mut passed = Vec::new();
        let mut at = Some(owner);
        while let Some(tid) = at.filter(|tid| !passed.contains(tid) && links.len() < MAX_LINKS) {
            passed.push(tid);
            let Some(thread) = self.by_tid.get(&tid) else { break };
            at = self.graph.edge_from(tid).map(|edge| edge.to);
            links.push(match (at, Awaited::of(thread)) {
                (Some(_), _) => self.for_a_lock(&[thread], None),
                (None, Some(awaited)) => self.for_a_thread(thread, awaited),
                (None, None) => self.in_a_call(&[thread], None),
            });
        }
        links
    }
}
