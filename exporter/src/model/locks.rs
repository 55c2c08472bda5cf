//! Writes the owners of contended locks beside the threads: a slice per wait on the owner's lock tracks for the
//! duration of the wait, and the waits in a thread dump, from the start of main's message.
//!
//! One arrow leads from the start of a wait to the owner's slice, and one from the end of that slice, at the
//! release, to the thread that waited. Viewers draw an arrow from the end of its source, so each starts or ends
//! at an instant of the waiting thread, and is vertical.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use answers::dump::{Frame, LockGraph, Section, Thread};
use answers::text::clean;
use trace_format::TextId;
use trace_format::event::Sigquit;

use super::categories::LOCK;
use super::dumped_thread::object;
use super::labels::{contention_name, known, lock_text, waits_for};
use super::owners::OwnerWait;
use super::sink::{Arg, Lane, Sink, TallySink, Value};
use super::thread::Shared;
use crate::ExportError;
use crate::facts::{Detector, Incidents};

/// Maximum number of overlapping lock tracks per thread. Further slices are omitted.
const MAX_LANES: usize = 16;
/// Maximum number of dumped waits displayed per process.
const MAX_DUMPED: usize = 1024;

/// A thread of the trace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TraceThread {
    pub(super) tid: u32,
    pub(super) name: String,
}

/// A wait in a dump.
#[derive(Clone, Debug)]
pub(super) struct DumpedWait {
    waiter: TraceThread,
    owner: TraceThread,
    /// `com.example.Store (0x0000001a)`.
    lock: String,
    since: u64,
    at: u64,
    /// The names of the threads of a deadlock, if this wait is part of one.
    deadlock: Option<String>,
    /// Whether the owner was inferred, not named by the dump.
    inferred: bool,
    /// Where owner and waiter are: function, and file with line.
    places: [(String, String); 2],
}

impl DumpedWait {
    /// The arguments of one side. `keys` are for the other.
    fn args_for<'a>(&'a self, keys: [&'static str; 2], other: &'a TraceThread) -> Vec<Arg<'a>> {
        let mut args = vec![
            Arg::category(LOCK),
            Arg::new(keys[0], Value::Uint(other.tid.into())),
            Arg::new(keys[1], Value::Text(&other.name)),
            Arg::new("lock", Value::Text(&self.lock)),
            Arg::new("stated_by", Value::Text("thread dump")),
        ];
        args.extend(self.deadlock.as_deref().map(|names| Arg::new("deadlock", Value::Text(names))));
        if self.inferred {
            args.push(Arg::new("inferred", Value::Bool(true)));
        }
        args
    }
}

/// Since when main was in what it was in at `at`, if a signal shows that.
fn since(incidents: &Incidents, at: u64) -> u64 {
    let args_for = |s: &Sigquit| Some(s.stuck_since).filter(|since| *since > 0);
    let anrs = incidents.anrs.iter().filter_map(|anr| match &anr.detector {
        Detector::Sigquit(_) => Some((anr.detected, anr.since)),
        Detector::Watchdog => None,
    });
    let captures = incidents.captures.iter().filter_map(|c| Some((c.at, args_for(&c.sigquit)?)));
    let before = anrs.chain(captures).filter(|(sensed, since)| *sensed <= at && *since <= at);
    before.max_by_key(|(sensed, _)| *sensed).map_or(at, |(_, since)| since)
}

/// The waits in a dump's section; `of` maps a thread to the trace.
pub(super) fn dumped_waits(
    shared: &Shared<'_>,
    at: u64,
    section: &Section,
    of: impl Fn(&Thread) -> Option<TraceThread>,
    waits: &mut Vec<DumpedWait>,
) {
    let graph = LockGraph::from(section);
    let thread = |tid: u32| section.thread(tid).and_then(|thread| Some((thread, of(thread)?)));
    let began = since(&shared.facts.incidents, at);
    for edge in &graph.edges {
        let (Some((waiting, waiter)), Some((owning, owner))) = (thread(edge.from), thread(edge.to)) else {
            continue;
        };
        if waits.len() >= MAX_DUMPED {
            return;
        }
        // A recorded wait already has its slice, with its true start.
        if waiter.tid == owner.tid || is_recorded(shared, waiter.tid, at) {
            continue;
        }
        let cycle =
            graph.deadlocks.iter().find(|cycle| cycle.contains(&edge.from) && cycle.contains(&edge.to));
        let deadlock = cycle.map(|cycle| {
            let names = cycle.iter().chain(cycle.first()).map(|tid| {
                section.thread(*tid).and_then(|t| t.name.as_deref()).unwrap_or("unknown").to_owned()
            });
            clean(&names.collect::<Vec<_>>().join(" > ")).into_owned()
        });
        waits.push(DumpedWait {
            waiter,
            owner,
            lock: clean(&object(edge.class.as_deref(), edge.address)).into_owned(),
            since: began.max(shared.start).min(at),
            at,
            deadlock,
            inferred: edge.inferred,
            places: [place(owning), place(waiting)],
        });
    }
}

fn is_recorded(shared: &Shared<'_>, tid: u32, at: u64) -> bool {
    shared.survey.waits.iter().any(|wait| {
        shared.process.threads[wait.thread].tid == tid
            && (wait.begun..=wait.begun.saturating_add(wait.duration)).contains(&at)
    })
}

/// The innermost Java frame, in ART's words.
fn place(thread: &Thread) -> (String, String) {
    let java = thread.frames.iter().find_map(|frame| match frame {
        Frame::Java(java) => Some(java),
        _ => None,
    });
    let Some(java) = java else { return ("? unknown()".to_owned(), "Unknown Source:0".to_owned()) };
    let source = match &java.place.file {
        Some(file) => format!("{}:{}", file.replace(['(', ')', ':'], "_"), java.place.line.unwrap_or(0)),
        None => "Unknown Source:0".to_owned(),
    };
    let function = clean(&format!("? {}.{}()", java.class, java.method.replace(' ', "_"))).into_owned();
    (function, clean(&source).into_owned())
}

/// A slice on a thread's lock tracks.
struct Row<'a> {
    begin: u64,
    end: u64,
    name: String,
    args: Vec<Arg<'a>>,
    /// The arrow from the start of this wait, and its owner.
    wait: Option<(u64, &'a str)>,
    incomplete: bool,
}

/// Writes the locks of all threads. Must follow all stacks, which introduce every thread.
pub(super) fn locks<K: Sink>(
    shared: &Shared<'_>,
    dumped: &[DumpedWait],
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let texts = shared.recording.texts();
    let mut locks: BTreeMap<u32, (String, Vec<Row<'_>>)> = BTreeMap::new();
    let lock_of = |a: &OwnerWait| (lock_text(a.wait.lock.0), known(texts, TextId(a.wait.lock.1)));
    let addresses: Vec<Vec<_>> = (0..shared.process.threads.len())
        .map(|i| shared.owners.awaited(i).iter().map(lock_of).collect())
        .collect();
    for (i, thread) in shared.process.threads.iter().enumerate().filter(|(_, t)| out.sink.wants(t)) {
        let name = thread.name.as_deref().unwrap_or("unknown");
        for (awaited, lock) in shared.owners.awaited(i).iter().zip(&addresses[i]) {
            let row = held(shared, awaited, lock);
            locks.entry(thread.tid).or_insert_with(|| (name.to_owned(), Vec::new())).1.push(row);
        }
    }
    let wanted = |known: &TraceThread| {
        let recorded = shared.process.threads.iter().find(|thread| thread.tid == known.tid);
        recorded.is_none_or(|thread| out.sink.wants(thread))
    };
    for wait in dumped.iter().filter(|wait| wanted(&wait.waiter) && wanted(&wait.owner)) {
        let flow = shared.flows.next();
        let [owner_at, waiter_at] = &wait.places;
        let contention = contention_name(
            &wait.owner.name,
            wait.owner.tid,
            (&owner_at.0, &owner_at.1),
            (&waiter_at.0, &waiter_at.1),
        );
        let (begin, end) = (wait.since, wait.at);
        let mut holds = wait.args_for(["waiter_tid", "waiter_name"], &wait.waiter);
        holds.push(Arg::flow(flow));
        let waits = wait.args_for(["owner_tid", "owner_name"], &wait.owner);
        let mut push = |known: &TraceThread, name: String, args, wait| {
            let row = Row { begin, end, name, args, wait, incomplete: false };
            locks.entry(known.tid).or_insert_with(|| (known.name.clone(), Vec::new())).1.push(row);
        };
        push(&wait.waiter, contention, waits, Some((flow, wait.owner.name.as_str())));
        push(&wait.owner, format!("holds lock of {}", wait.lock), holds, None);
    }
    // Arrows with equal times follow the file's order: from the waits to the owners' slices.
    for waits in [true, false] {
        for (tid, (name, rows)) in &locks {
            write(Lane::Locks(*tid, name), rows.iter().filter(|row| row.wait.is_some() == waits), out)?;
        }
    }
    Ok(())
}

/// A lock's owner, while another thread waits for that lock: its identity, and its class.
fn held<'a>(
    shared: &'a Shared<'_>,
    OwnerWait { wait, flow, release, .. }: &OwnerWait,
    (identity, class): &'a (String, Option<Cow<'_, str>>),
) -> Row<'a> {
    let end_of_all = shared.survey.end.max(shared.start);
    let waiter = &shared.process.threads[wait.thread];
    let begin = wait.begun.max(shared.start).min(end_of_all);
    let incomplete = wait.duration == u64::MAX;
    let end = begin.saturating_add(wait.duration).min(end_of_all);
    let mut args = vec![
        Arg::category(LOCK),
        Arg::flow(*flow),
        Arg::new("waiter_tid", Value::Uint(waiter.tid.into())),
        Arg::new("waiter_name", Value::Text(waiter.name.as_deref().unwrap_or("unknown"))),
    ];
    if !incomplete {
        args.push(Arg::flow(*release));
        args.push(Arg::new("waited_ms", Value::Millis(wait.duration)));
    }
    if wait.lock.0 > 0 {
        args.push(Arg::new("lock", Value::Text(identity)));
    }
    let what = class.as_deref().unwrap_or("an unknown object");
    Row { begin, end, name: format!("holds lock of {what}"), args, wait: None, incomplete }
}

/// Writes the slices of one thread, each on the first lane on which it nests.
fn write<'r, K: Sink>(
    lane: Lane<'_>,
    rows: impl Iterator<Item = &'r Row<'r>>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| (row.begin, Reverse(row.end)));
    let mut lanes: Vec<(Vec<u64>, Vec<&Row<'_>>)> = Vec::new();
    for row in rows {
        let fits = |open: &mut Vec<u64>| {
            while open.pop_if(|end| *end <= row.begin).is_some() {}
            open.last().is_none_or(|end| *end >= row.end)
        };
        let place = match lanes.iter_mut().position(|(open, _)| fits(open)) {
            Some(place) => place,
            None if lanes.len() < MAX_LANES => {
                lanes.push(Default::default());
                lanes.len() - 1
            }
            None => {
                out.tally.skipped += 1;
                continue;
            }
        };
        lanes[place].0.push(row.end);
        lanes[place].1.push(row);
    }
    for (_, rows) in lanes {
        out.lane(lane)?;
        let mut open: Vec<(u64, bool)> = Vec::new();
        let end = |(at, incomplete): (u64, bool), out: &mut TallySink<'_, K>| {
            out.tally.incomplete += u64::from(incomplete);
            let args = [Arg::new("incomplete", Value::Bool(true))];
            out.end(at, if incomplete { &args } else { &[] })
        };
        for row in rows {
            while let Some(ended) = open.pop_if(|(end, _)| *end <= row.begin) {
                end(ended, out)?;
            }
            out.begin(row.begin, &row.name, &row.args)?;
            if let Some((flow, owner)) = row.wait {
                out.instant(row.begin, &waits_for(owner), &[Arg::flow(flow)])?;
            }
            open.push((row.end, row.incomplete));
        }
        while let Some(ended) = open.pop() {
            end(ended, out)?;
        }
    }
    Ok(())
}
