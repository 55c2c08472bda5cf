//! The native stacks of a report, and the threads that missed their heartbeats.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use trace_format::native_slot::Reason;

use super::findings::Report;
use super::moments::moment;
use crate::answer::MAX_STACK_FRAMES;
use crate::answer::native_summary::NativeSummary;
use crate::native::{NativeStacks, ThreadStack, reason_word};
use crate::words::{seconds, times};

/// Maximum number of stacks listed.
const MAX_STACKS: usize = 64;
/// Maximum number of stacks, and of frames of a stack, in a page.
const MAX_SHOWN: usize = 8;
const MAX_SHOWN_FRAMES: usize = 24;
/// Time between two captures of a thread from which they are of different stalls, ns.
const MAX_GAP: u64 = 10_000_000_000;

/// A thread that missed its heartbeat.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MissedBeat {
    /// The thread's name.
    pub thread: String,
    /// Its tid.
    pub tid: u32,
    /// When its stack was first taken, BOOTTIME ns.
    pub since: u64,
    /// When it was last taken.
    pub until: u64,
    /// What it was in, in words.
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
    pub(super) fn of(all: &NativeStacks, name_of: &dyn Fn(u32) -> String) -> Self {
        let stacks = all.all.iter().take(MAX_STACKS);
        let stacks = stacks.map(|stack| ReportedStack { thread: name_of(stack.tid), stack: stack.clone() });
        Self { stacks: stacks.collect(), count: all.all.len() as u64, missed: missed(all, name_of) }
    }
}

/// The threads that missed their heartbeats: captures of one thread that follow each other are of one stall.
fn missed(all: &NativeStacks, name_of: &dyn Fn(u32) -> String) -> Vec<MissedBeat> {
    let mut spans: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for stack in all.all.iter().filter(|stack| stack.reason == Some(Reason::MissedBeat)) {
        let of_thread = spans.entry(stack.tid).or_default();
        match of_thread.last_mut().filter(|(_, until)| stack.at.saturating_sub(*until) <= MAX_GAP) {
            Some((_, until)) => *until = stack.at,
            None => of_thread.push((stack.at, stack.at)),
        }
    }
    let mut found = Vec::new();
    for (tid, spans) in spans {
        // The longest of each thread.
        let Some((since, until)) = spans.into_iter().max_by_key(|(since, until)| (until - since, *since))
        else {
            continue;
        };
        let Some(summary) = summary(all, tid, (since, until), name_of) else { continue };
        found.push(MissedBeat { thread: name_of(tid), tid, since, until, finding: summary.finding() });
    }
    found.sort_by_key(|missed| (std::cmp::Reverse(missed.until - missed.since), missed.tid));
    found.truncate(MAX_STACKS);
    found
}

/// What the stacks of a thread that missed its heartbeat show.
pub(super) fn summary(
    all: &NativeStacks,
    tid: u32,
    span: (u64, u64),
    name_of: &dyn Fn(u32) -> String,
) -> Option<NativeSummary> {
    let found = NativeSummary::of(all, tid, span, name_of)?;
    Some(NativeSummary { thread: format!("\"{}\"", found.thread), at_least: true, ..found })
}

impl MissedBeat {
    /// `"GameMain" (tid 7) missed its heartbeat, and stalled for at least 1.5 s`.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { thread, tid, since, until, .. } = self;
        match until - since {
            0 => format!("\"{thread}\" (tid {tid}) missed its heartbeat"),
            stalled => {
                format!(
                    "\"{thread}\" (tid {tid}) missed its heartbeat, and stalled for at least {}",
                    seconds(stalled)
                )
            }
        }
    }
}

/// Writes the stacks with the details of a page.
pub(super) fn write_stacks(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    if r.native.stacks.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nNATIVE STACKS (innermost first): {}", times(r.native.count, "capture"))?;
    for ReportedStack { thread, stack } in r.native.stacks.iter().take(MAX_SHOWN) {
        let call = stack.call_words().map_or_else(String::new, |call| format!(", {call}"));
        let reason = reason_word(stack.reason);
        writeln!(f, "  \"{thread}\" (tid {}) at {}, {reason}{call}", stack.tid, moment(r, stack.at))?;
        for frame in stack.frames.iter().take(MAX_SHOWN_FRAMES) {
            let library =
                frame.native.as_ref().map(|place| place.library()).filter(|_| !frame.function.is_empty());
            let library = library.map_or_else(String::new, |library| format!(" ({library})"));
            let source = frame.source.as_ref();
            let source = source.map_or_else(String::new, |(file, line)| format!(" {file}:{line}"));
            writeln!(f, "      {}{library}{source}", frame.title())?;
        }
        if stack.frames.len() > MAX_SHOWN_FRAMES {
            writeln!(f, "      ... {} more ...", stack.frames.len() - MAX_SHOWN_FRAMES)?;
        }
        if stack.approximate {
            writeln!(f, "      (the place of the Java frames is approximate)")?;
        }
        if !stack.end.is_empty() {
            writeln!(f, "      (the stack ends here: {})", stack.end)?;
        }
    }
    match r.native.count.checked_sub(MAX_SHOWN as u64).filter(|more| *more > 0) {
        Some(more) => writeln!(f, "  and {more} more (--format json has up to {MAX_STACKS})"),
        None => Ok(()),
    }
}
