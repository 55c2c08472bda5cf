//! The native stacks of a report, and the threads that missed their heartbeats.

use std::collections::BTreeMap;

use answers::answer::NativeSummary;
use answers::words::seconds;
use serde::Serialize;
use trace_format::native_slot::Reason;

use super::native_summary;
use super::sources::Sources;
use crate::native::ThreadStack;

/// Maximum number of stacks listed.
pub(super) const MAX_STACKS: usize = 64;
/// Time between two captures of a thread from which they are of different stalls, ns.
const MAX_GAP: u64 = 10_000_000_000;

/// A watched thread that missed its heartbeat.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "MissedHeartbeat"))]
#[non_exhaustive]
pub struct MissedBeat {
    /// The thread's name.
    pub thread: String,
    /// The thread's kernel id.
    pub tid: u32,
    /// The time at which the thread's stack was first taken.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// The time at which the thread's stack was last taken.
    #[serde(rename = "until_ns")]
    pub until: u64,
    /// The finding from these stacks.
    pub finding: String,
}

/// A native stack of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReportedStack {
    /// The thread's name.
    pub thread: String,
    /// The stack.
    pub stack: ThreadStack,
}

/// What a report says about native stacks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct NativeReport {
    /// The first of them, by time.
    pub stacks: Vec<ReportedStack>,
    /// The number of all.
    pub count: u64,
    /// The threads that missed their heartbeats, the longest first.
    pub missed: Vec<MissedBeat>,
}

impl NativeReport {
    pub(super) fn of(sources: &Sources<'_>) -> Self {
        let all = &sources.native.all;
        let shown =
            |stack: &ThreadStack| ReportedStack { thread: sources.name_of(stack.tid), stack: stack.clone() };
        let stacks = all.iter().take(MAX_STACKS).map(shown);
        Self { stacks: stacks.collect(), count: all.len() as u64, missed: missed(sources) }
    }
}

/// The threads that missed their heartbeats: captures of one thread that follow each other are of one stall.
fn missed(sources: &Sources<'_>) -> Vec<MissedBeat> {
    let mut spans: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for stack in sources.native.all.iter().filter(|stack| stack.reason == Some(Reason::MissedBeat)) {
        let of_thread = spans.entry(stack.tid).or_default();
        match of_thread.last_mut().filter(|(_, until)| stack.at.saturating_sub(*until) <= MAX_GAP) {
            Some((_, until)) => *until = stack.at,
            None => of_thread.push((stack.at, stack.at)),
        }
    }
    let found = spans.into_iter().filter_map(|(tid, spans)| {
        // The longest of each thread.
        let (since, until) = spans.into_iter().max_by_key(|(since, until)| (until - since, *since))?;
        let finding = summary(sources, tid, (since, until))?.finding();
        Some(MissedBeat { thread: sources.name_of(tid), tid, since, until, finding })
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|missed| (std::cmp::Reverse(missed.until - missed.since), missed.tid));
    found.truncate(MAX_STACKS);
    found
}

/// What the stacks of a thread that missed its heartbeat show.
pub(super) fn summary(sources: &Sources<'_>, tid: u32, span: (u64, u64)) -> Option<NativeSummary> {
    let found = native_summary::of(sources, tid, span)?;
    Some(NativeSummary { thread: format!("\"{}\"", found.thread), at_least: true, ..found })
}

impl MissedBeat {
    /// `"GameMain" (tid 7) missed its heartbeat, and stalled for at least 1.5 s`.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { thread, tid, since, until, .. } = self;
        let missed = format!("\"{thread}\" (tid {tid}) missed its heartbeat");
        match until - since {
            0 => missed,
            stalled => format!("{missed}, and stalled for at least {}", seconds(stalled)),
        }
    }
}
