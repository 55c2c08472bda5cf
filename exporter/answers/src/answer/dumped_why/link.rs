//! A link of the chain: which threads, and what they wait for or are in.

use super::awaited::Awaited;
use super::{Chain, related};
use crate::dump::{LockKind, Thread};

/// Maximum number of names of threads that are not of one pool.
const MAX_NAMES: usize = 3;

/// Threads that wait for the same, or are in the same call.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct DumpedLink {
    /// The names of the threads; the first stands for all.
    pub(crate) threads: Vec<String>,
    /// The id of the first one in the kernel, else in the virtual machine.
    pub(crate) tid: Option<u32>,
    /// `future`, `monitor`, `latch`, `nothing` and so on, as in a report.
    pub(crate) waits_for: &'static str,
    /// Class of the object that they wait for.
    pub(crate) class: Option<String>,
    /// Its address or identity.
    pub(crate) address: Option<u64>,
    /// The call that they are in.
    pub(crate) inside: Option<String>,
    /// The owner of the lock.
    pub(crate) owner: Option<String>,
    /// All of that in a sentence without a full stop.
    pub(crate) text: String,
}

/// How many of a pool's threads a link is about.
#[derive(Clone, Copy)]
pub(super) struct Share<'a> {
    pub(super) pool: &'a str,
    /// The threads of the pool that run a task.
    pub(super) busy: usize,
    /// All threads of the pool.
    pub(super) all: usize,
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

impl<'a> Chain<'a> {
    /// `main`, or `"io-1"`.
    pub(super) fn called(&self, thread: &Thread) -> String {
        if std::ptr::eq(thread, self.main) {
            return "main".to_owned();
        }
        match (&thread.name, thread.tid) {
            (Some(name), _) => format!("\"{name}\""),
            (None, tid) => format!("the thread {}", tid.unwrap_or_default()),
        }
    }

    /// How many threads of a pool there are.
    pub(super) fn share(&self, pool: &'a str) -> Share<'a> {
        let (busy, all) = self.pools.get(pool).copied().unwrap_or_default();
        Share { pool, busy, all }
    }

    /// The threads as the subject of a sentence.
    fn subject(&self, threads: &[&Thread], share: Option<Share<'_>>) -> String {
        match (threads, share) {
            ([one], Some(share)) if share.all == 1 => {
                format!("{}, the only thread of its pool,", self.called(one))
            }
            ([one], Some(share)) => format!("{} of pool \"{}\"", self.called(one), share.pool),
            (many, Some(Share { pool, busy, all })) if many.len() == busy => {
                let number = if busy == 2 { "both".to_owned() } else { format!("all {busy}") };
                let busy = if all > busy { " busy" } else { "" };
                format!("{number}{busy} threads of pool \"{pool}\"")
            }
            (many, Some(share)) => {
                format!("{} of {} busy threads of pool \"{}\"", many.len(), share.busy, share.pool)
            }
            (many, None) => {
                let mut names: Vec<String> =
                    many.iter().take(MAX_NAMES).map(|thread| self.called(thread)).collect();
                if many.len() > MAX_NAMES {
                    names.push(format!("{} more", many.len() - MAX_NAMES));
                }
                listed(&names)
            }
        }
    }

    fn link(&self, threads: &[&Thread]) -> DumpedLink {
        let first = threads.first();
        let name = |thread: &&Thread| thread.name.clone().unwrap_or_else(|| self.called(thread));
        DumpedLink {
            threads: threads.iter().map(name).collect(),
            tid: first.and_then(|thread| thread.sys_tid.or(thread.tid)),
            waits_for: "nothing",
            inside: first.and_then(|thread| related::place(thread)),
            ..DumpedLink::default()
        }
    }

    /// A thread that waits for another one.
    pub(super) fn for_a_thread(&self, thread: &Thread, awaited: Awaited) -> DumpedLink {
        let object = thread.locks.iter().find(|lock| {
            matches!(lock.kind, LockKind::ParkingFor | LockKind::WaitingOn) && lock.class.is_some()
        });
        DumpedLink {
            waits_for: awaited.word(),
            class: object.and_then(|object| object.class.clone()),
            address: object.and_then(|object| object.address),
            text: format!("{} waits for {}", self.called(thread), awaited.words()),
            ..self.link(&[thread])
        }
    }

    /// Threads that wait for a result of other threads.
    pub(super) fn for_results(
        &self,
        threads: &[&Thread],
        awaited: Awaited,
        share: Option<Share<'_>>,
    ) -> DumpedLink {
        let verb = if threads.len() == 1 { "waits" } else { "wait" };
        DumpedLink {
            waits_for: awaited.word(),
            text: format!("{} {verb} for {}", self.subject(threads, share), awaited.words()),
            ..self.link(threads)
        }
    }

    /// Threads that wait for the lock that the first of them waits for, or for main to run what they posted to it.
    pub(super) fn for_a_lock(&self, threads: &[&Thread], share: Option<Share<'_>>) -> DumpedLink {
        let first = threads.first();
        let verb = if threads.len() == 1 { "waits" } else { "wait" };
        let subject = self.subject(threads, share);
        let edge = first.and_then(|thread| self.graph.edge_from(thread.tid?));
        let Some(edge) = edge else {
            let awaited = first.and_then(|thread| Awaited::of(thread)).unwrap_or(Awaited::Handler);
            return self.for_results(threads, awaited, share);
        };
        let is_monitor = |thread: &&Thread| thread.locks.iter().any(|l| l.kind == LockKind::WaitingToLock);
        let owner = self.by_tid.get(&edge.to);
        let of = edge.class.as_deref().unwrap_or("an object of unknown class");
        let by = owner.map_or_else(|| format!("the thread {}", edge.to), |owner| self.called(owner));
        DumpedLink {
            waits_for: if first.is_some_and(is_monitor) { "monitor" } else { "lock" },
            class: edge.class.clone(),
            address: edge.address,
            owner: owner.and_then(|owner| owner.name.clone()),
            text: format!("{subject} {verb} for the lock of {of}, which {by} owns"),
            ..self.link(threads)
        }
    }

    /// Threads that are in the same call.
    pub(super) fn in_a_call(&self, threads: &[&Thread], share: Option<Share<'_>>) -> DumpedLink {
        let link = self.link(threads);
        let verb = if threads.len() == 1 { "is" } else { "are" };
        let place = link.inside.as_deref().unwrap_or("code that the dump does not show");
        let unnamed = if place.starts_with("java.util.concurrent.locks.") {
            ", for a lock whose owner the dump does not name"
        } else {
            ""
        };
        let text = format!("{} {verb} in {place}{unnamed}", self.subject(threads, share));
        DumpedLink { text, ..link }
    }

    /// Threads of a pool that are in different calls.
    pub(super) fn in_calls(&self, threads: &[&Thread], share: Option<Share<'_>>) -> DumpedLink {
        let mut places: Vec<String> = threads.iter().filter_map(|thread| related::place(thread)).collect();
        places.sort();
        places.dedup();
        if places.len() > MAX_NAMES {
            places.truncate(MAX_NAMES);
            places.push("other calls".to_owned());
        }
        let text = format!("{} are in {}", self.subject(threads, share), listed(&places));
        DumpedLink { text, inside: None, ..self.link(threads) }
    }
}
