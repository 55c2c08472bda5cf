//! Whether the threads that could end a wait wait for the waiter: for a lock that it owns, or for what they posted to it.

use std::collections::{HashMap, HashSet};

use trace_format::verdict::Confidence;

use super::awaited::Awaited;
use super::link::DumpedLink;
use super::pools::{Does, Seen};
use super::{Chain, DumpedCause, Step, related};
use crate::answer::id::CauseId;
use crate::dump::LockGraph;

/// A thread that waits for the chain.
struct Stuck<'s, 'a> {
    seen: &'s Seen<'a>,
    /// What it waits for: the owner, and the lock's identity.
    key: (u32, Option<u64>),
    /// Whether the dump states that, rather than that it was inferred.
    stated: bool,
}

impl<'a> Chain<'a> {
    /// The link of the threads that are blocked, and the conclusion, unless other threads could end the wait as well.
    pub(super) fn stuck(
        &self,
        step: &Step<'_>,
        candidates: &[&Seen<'a>],
    ) -> Option<(Option<DumpedCause>, DumpedLink)> {
        let stuck: Vec<Stuck<'_, 'a>> =
            candidates.iter().filter_map(|seen| self.leads_back(seen, step)).collect();
        let group = largest(&stuck)?;
        let tids: HashSet<Option<u32>> = stuck.iter().map(|one| one.seen.thread.tid).collect();
        let is_blocked = |seen: &Seen<'_>| tids.contains(&seen.thread.tid);
        let working: Vec<&&Seen<'_>> = candidates
            .iter()
            .filter(|seen| matches!(seen.does, Does::Works | Does::Sleeps) && !is_blocked(seen))
            .collect();
        let task = |seen: &Seen<'_>| related::task_of(seen.thread, step.waiter);
        let of_the_waiter = group.iter().find_map(|one| Some((one.seen, task(one.seen)?)));
        let known = of_the_waiter.filter(|_| working.iter().all(|seen| task(seen).is_none()));
        let joined = self.joined(step).is_some();

        let first = group.first()?.seen;
        let share = first.pool.map(|pool| self.share(pool));
        let is_all = share.is_none_or(|share| share.busy == group.len());
        let alone = working.is_empty() && is_all;
        let decides = known.is_some() || joined;
        let threads: Vec<_> = group.iter().map(|one| one.seen.thread).collect();
        let link = self.for_a_lock(&threads, share);
        // A reader of messages may bring what completes a future.
        let reads = |seen: &Seen<'_>| seen.pool.is_none() && Awaited::of(seen.thread) == Some(Awaited::Queue);
        if step.awaited == Awaited::OpenFuture && !decides && self.seen.iter().any(reads) {
            return Some((None, link));
        }
        let are_most = stuck.len() > working.len() && !step.awaited.is_vague();
        if !decides && !alone && !are_most {
            return Some((None, link));
        }
        // Other code than a task's may complete an open future, or count a latch down.
        let by_a_task = step.awaited.is_of_a_task()
            || step.awaited == Awaited::OpenFuture && group.iter().all(|one| one.seen.runs_a_stage)
            || step.awaited == Awaited::Coroutine && first.runs_a_coroutine
            || step.awaited != Awaited::Join && group.len() > 1;
        let is_sure =
            group.iter().all(|one| one.stated) && !step.awaited.is_vague() && (decides || alone && by_a_task);

        let waiter = self.called(step.waiter);
        let share = (!alone).then_some((stuck.len(), stuck.len() + working.len()));
        let because = self.because(&waiter, known, joined, share);
        let cause = DumpedCause {
            cause: match step.awaited {
                // Any other thread could notify, too.
                Awaited::Notification => CauseId::ObjectWait,
                Awaited::Condition => CauseId::FutureWait,
                _ if first.pool.is_some() => CauseId::PoolDeadlock,
                _ => CauseId::SelfMadeDeadlock,
            },
            confidence: if is_sure { Confidence::High } else { Confidence::Medium },
            finding: format!("{}, while {waiter} waits for {}", link.text, step.awaited.words()),
            because,
            root: None,
        };
        Some((Some(cause), link))
    }

    /// The reason for the answer. `share` has the blocked threads and all that could end the wait, if others are not blocked.
    fn because(
        &self,
        waiter: &str,
        known: Option<(&Seen<'_>, String)>,
        joined: bool,
        share: Option<(usize, usize)>,
    ) -> String {
        match (known, share) {
            (Some((seen, task)), _) => {
                let runner = self.called(seen.thread);
                format!("{runner} runs {task}, code of the method in which {waiter} waits")
            }
            _ if joined => format!("the dump names the class of the thread that {waiter} joins"),
            (None, None) => format!("inferred: no other busy thread could end the wait of {waiter}"),
            (None, Some((blocked, all))) => format!(
                "inferred: {blocked} of {all} busy threads that could end the wait of {waiter} are blocked"
            ),
        }
    }

    /// Whether a thread waits for one that the chain has passed.
    fn leads_back<'s>(&self, seen: &'s Seen<'a>, step: &Step<'_>) -> Option<Stuck<'s, 'a>> {
        match seen.does {
            // The queue that a handler has is not in a dump: often it is main's.
            Does::Waits(awaited @ (Awaited::Main | Awaited::Handler)) => {
                let stated = awaited == Awaited::Main;
                return Some(Stuck { seen, key: (self.main.tid?, None), stated });
            }
            Does::Waits(_) | Does::Sleeps | Does::Idle => return None,
            Does::Works => {}
        }
        let chain = self.graph.chain(seen.thread.tid?, LockGraph::MAX_CHAIN);
        let end = chain.iter().position(|edge| step.passed.contains(&edge.to))?;
        let first = chain.first()?;
        let stated = chain[..=end].iter().all(|edge| !edge.inferred);
        Some(Stuck { seen, key: (first.to, first.address), stated })
    }
}

/// The largest group of threads of one pool that wait for the same; of equals the first.
fn largest<'v, 's, 'a>(stuck: &'v [Stuck<'s, 'a>]) -> Option<Vec<&'v Stuck<'s, 'a>>> {
    let mut groups: Vec<Vec<&Stuck<'_, '_>>> = Vec::new();
    let mut places = HashMap::new();
    for one in stuck {
        let place = *places.entry((one.key, one.seen.pool)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.into_iter().rev().max_by_key(Vec::len)
}
