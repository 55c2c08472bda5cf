//! Why a wait is not over, as far as a dump shows: main waits for a future, and the threads that could complete it wait for a lock
//! that main owns, or for tasks of their own pool, or are all in one call.
//!
//! A dump shows neither which future belongs to which pool nor who counts a latch down. So a conclusion needs that no other
//! thread can end the wait, or that most of those that can are blocked; its confidence says how sure that is.

mod awaited;
mod busy;
mod exhausted;
mod link;
mod pools;
mod related;
mod stuck;

use std::collections::HashMap;

use trace_format::verdict::Confidence;

use super::id::CauseId;
use super::stack::Site;
use crate::dump::{Dump, LockGraph, LockKind, Section, Thread};
use awaited::Awaited;
pub(crate) use link::DumpedLink;
use pools::{Does, Seen};

/// Maximum number of links from main to the thread that all others wait for.
pub const MAX_LINKS: usize = 32;

/// What the chain shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DumpedCause {
    pub(crate) cause: CauseId,
    pub(crate) confidence: Confidence,
    /// In a sentence without a full stop.
    pub(crate) finding: String,
    /// What it is inferred from.
    pub(crate) because: String,
    /// The place to change, if another thread has it: a task that waits for another one of its pool.
    pub(crate) root: Option<Site>,
}

/// Why main's wait is not over.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DumpedWhy {
    /// The links, main's first.
    pub(crate) links: Vec<DumpedLink>,
    /// The cause, if the dump shows it.
    pub(crate) found: Option<DumpedCause>,
    /// Whether the chain returns to a thread that it passed.
    pub(crate) cycle: bool,
}

impl DumpedWhy {
    /// Of the thread that the dump is about, or of main up to that thread.
    pub(crate) fn of_dump(dump: &Dump) -> Option<Self> {
        let section = dump.answer()?;
        Self::of(section, section.waiter()?, &LockGraph::from(section))
    }

    /// Of main; `None` if main waits for no thread, or the dump shows no more than that.
    pub(crate) fn of(section: &Section, main: &Thread, graph: &LockGraph) -> Option<Self> {
        // The thread whose wait is to be explained: main, or the last owner of the locks that it waits for.
        let owners = graph.chain(main.tid?, LockGraph::MAX_CHAIN);
        let mut passed = vec![main.tid?];
        for edge in &owners {
            if passed.contains(&edge.to) {
                return None;
            }
            passed.push(edge.to);
        }
        let waiter = owners.last().map_or(Some(main), |edge| section.thread(edge.to))?;
        let awaited = Awaited::of(waiter)?;
        let by_tid = section.threads.iter().filter_map(|thread| Some((thread.tid?, thread))).collect();
        let seen: Vec<Seen<'_>> = section.threads.iter().filter_map(Seen::of).collect();
        let mut pools: HashMap<&str, (usize, usize)> = HashMap::new();
        for (pool, seen) in seen.iter().filter_map(|seen| Some((seen.pool?, seen))) {
            let (busy, all) = pools.entry(pool).or_default();
            *busy += usize::from(seen.does != Does::Idle);
            *all += 1;
        }
        let chain = Chain { graph, by_tid, main, seen, pools };
        let locked = passed.iter().filter_map(|tid| chain.by_tid.get(tid)).take(owners.len());
        let links = locked.map(|thread| chain.for_a_lock(&[thread], None)).collect();
        let step = Step { waiter, awaited, passed, guessed: false, blocked: !owners.is_empty() };
        chain.explain(step, links)
    }

    /// The chain as a sentence without a full stop.
    pub(crate) fn text(&self) -> String {
        self.links.iter().map(|link| link.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// What is read once.
struct Chain<'a> {
    graph: &'a LockGraph,
    by_tid: HashMap<u32, &'a Thread>,
    main: &'a Thread,
    /// The program's threads that may end a wait, in the dump's order.
    seen: Vec<Seen<'a>>,
    /// How many threads of each pool run a task, and how many it has.
    pools: HashMap<&'a str, (usize, usize)>,
}

/// A wait to be explained.
struct Step<'a> {
    waiter: &'a Thread,
    awaited: Awaited,
    /// The threads of the chain, the waiter last.
    passed: Vec<u32>,
    /// Whether a link before this one is a guess.
    guessed: bool,
    /// Whether main waits for a lock.
    blocked: bool,
}

impl<'a> Chain<'a> {
    /// Follows the chain from a wait for another thread.
    fn explain(&self, step: Step<'a>, mut links: Vec<DumpedLink>) -> Option<DumpedWhy> {
        links.push(self.for_a_thread(step.waiter, step.awaited));
        let candidates = self.candidates(&step);
        let (mut found, cycle) = if let Some((found, stuck)) = self.stuck(&step, &candidates) {
            links.push(stuck);
            (found, true)
        } else if let Some((found, pool)) = self.exhausted(&step) {
            links.push(pool);
            (Some(found), false)
        } else {
            return self.busy(step, &candidates, links);
        };
        if let Some(found) = &mut found
            && step.guessed
        {
            found.confidence = Confidence::Medium;
        }
        // That main waits for a lock is certain: only what is certain, too, explains more.
        let found = found.filter(|found| !step.blocked || found.confidence == Confidence::High);
        Some(DumpedWhy { links, cycle: cycle && found.is_some(), found })
    }

    /// The busy threads that may end a wait: of pools for a task, the only one that can be meant for a join.
    fn candidates(&self, step: &Step<'_>) -> Vec<&Seen<'a>> {
        if let Some(joined) = self.joined(step) {
            return vec![joined];
        }
        let can_end = |seen: &&Seen<'a>| match step.awaited {
            Awaited::FutureTask | Awaited::Tasks => seen.pool.is_some() || seen.runs_a_future,
            Awaited::ForkJoinTask | Awaited::Executor => seen.pool.is_some(),
            Awaited::Join => seen.pool.is_none(),
            _ => seen.does != Does::Sleeps,
        };
        let others = self.seen.iter().filter(|seen| !step.has_passed(seen.thread) && seen.does != Does::Idle);
        let found: Vec<&Seen<'a>> = others.filter(can_end).collect();
        // Programs join the threads that end by themselves.
        let ends = |seen: &&&Seen<'a>| step.awaited == Awaited::Join && !seen.thread.daemon;
        let ending: Vec<&Seen<'a>> = found.iter().filter(ends).copied().collect();
        if ending.is_empty() { found } else { ending }
    }

    /// The thread that is joined: the only one of the class that the dump names.
    fn joined(&self, step: &Step<'_>) -> Option<&Seen<'a>> {
        let object = step.waiter.locks.iter().find(|lock| lock.kind == LockKind::WaitingOn)?;
        let class = object.class.as_deref().filter(|_| step.awaited == Awaited::Join)?;
        if class.starts_with("java.lang.") {
            return None;
        }
        let is_of_it = |seen: &&Seen<'_>| {
            let outer = awaited::java(seen.thread).rev().take(3);
            outer.filter(|frame| frame.method == "run").any(|frame| frame.class == class)
        };
        let mut found = self.seen.iter().filter(is_of_it);
        found.next().filter(|seen| found.next().is_none() && !step.has_passed(seen.thread))
    }
}

impl Step<'_> {
    fn has_passed(&self, thread: &Thread) -> bool {
        thread.tid.is_some_and(|tid| self.passed.contains(&tid))
    }
}
