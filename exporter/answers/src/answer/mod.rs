//! The answer: what hung, why, which of the app's methods to change, and who owns the lock that main waits for.
//!
//! ```text
//! dump      -> Dumped  ┐
//!                      ├> Observed -> rules -> Cause ┐
//! recording -> report  ┘           -> root, stacks   ├> Answer -> report, dump, groups, fleet's columns, trace
//!                                  -> owners, cycle  ┘
//! ```
//! `observed::Observed` holds plain values, so a dump and a recording with the same facts have the same answer.

mod activity;
mod asked;
mod both_sides;
mod cause;
mod due;
mod dump_summary;
mod dumped_why;
mod exceptions;
mod id;
mod json;
mod kind;
mod lines;
mod mostly;
mod native_summary;
mod not_shown;
mod observed;
mod own;
mod read_write_queue;
mod recent_work;
mod recorded_wait;
mod root;
mod rules;
mod stack;
mod system_rules;
mod system_share;
mod wait_cause;

pub use activity::{Activity, FrameView, classify, counted, is_stub, parts, remote_call};
pub use asked::{Claim, Claims, Stands, has_waited_anew, is_schedule, keeps_alive, ticks, waits_for};
pub use cause::{Cause, Evidence};
pub use due::{Due, due_to_dumped, due_to_recorded, is_ending, runs_coroutines};
pub use dump_summary::{DumpSummary, Wanted as WantedThread};
pub use dumped_why::MAX_LINKS;
pub use exceptions::{maker, mostly_throws};
pub use id::CauseId;
pub use json::AnswerJson;
pub use kind::CauseKind;
pub use lines::MAX_OWNERS;
pub use mostly::Mostly;
pub use native_summary::{NativeRoot, NativeSummary};
pub use observed::{CalleeSummary, CpuTime, Observed, SampleSummary, ShortCallSummary, Turns, WaitSum};
pub use own::{is_own, is_own_library};
pub use recent_work::{MessageKind, RecentWork};
pub use recorded_wait::of_recorded;
pub use root::is_method_number;
pub use rules::{RULES, Rule};
pub use stack::{MAX_STACK_FRAMES, NativeLine, Site, StackLine, root as own_site, seen};
pub use system_share::{SystemShare, ThreadShare};

pub(crate) use dumped_why::{DumpedLink, DumpedWhy};

use serde::Serialize;

use crate::dump::Dump;
use crate::words::said_of;

/// What a dumped thread does.
pub(crate) fn thread_activity(thread: &crate::dump::Thread) -> Activity {
    // Who waits for a connection or a disk uses no CPU time: one that has used half of all time asks it again and again.
    let has_run = || thread.cpu_ns.zip(thread.elapsed_ns).is_some_and(|(cpu, elapsed)| cpu > elapsed / 2);
    match by_frames(thread) {
        Activity::Of(CauseId::NetworkIo | CauseId::DiskIo) if has_run() => Activity::Java,
        // What it called to wait comes back at once, as with an interrupt that nobody clears.
        _ if is_awake(thread) && !stack::seen(thread).next().is_some_and(is_native_wait) => Activity::Java,
        // A library may sleep for what it gives.
        Activity::Of(CauseId::FutureWait) if thread.state.as_deref().is_some_and(is_asleep) => {
            Activity::Of(CauseId::Sleep)
        }
        found => found,
    }
}

fn by_frames(thread: &crate::dump::Thread) -> Activity {
    classify(stack::seen(thread), thread.state.as_deref().unwrap_or_default())
}

/// True for a thread of a JVM that runs in a call that waits for a thread or a time: one wait was over when it was dumped.
pub fn is_awake(thread: &crate::dump::Thread) -> bool {
    let waits = || matches!(by_frames(thread), Activity::Of(cause) if cause.is_for_a_thread());
    thread.state.as_deref() == Some("RUNNABLE") && waits()
}

fn is_native_wait(frame: FrameView<'_>) -> bool {
    let waits = ["park", "wait", "wait0", "sleep", "sleep0", "sleepNanos0"];
    matches!(frame, FrameView::Java { native: true, method, .. } if waits.contains(&method))
}

/// True for the state that a JVM's dump gives a thread in `Thread.sleep`.
fn is_asleep(state: &str) -> bool {
    state.ends_with("(sleeping)")
}

/// The verdict on main. Its words in JSON are the same in all versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// The system reported an ANR, or the 5 s rule applied.
    Anr,
    /// Main, or another watched thread, did not respond.
    Hang,
    /// The system requested a dump, but main had recovered by then.
    Recovered,
    /// The system requested the dump because of another process.
    OtherProcess,
    /// Nothing hung.
    NoHang,
}

/// The owner of a lock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LockOwner"))]
pub struct Owner {
    /// The thread's name.
    pub thread: String,
    /// The thread's id.
    // In the kernel if that is known, else in the virtual machine.
    pub tid: u32,
    /// The class of the lock that it owns.
    pub lock: Option<String>,
    /// The thread's activity, in words.
    #[serde(rename = "doing")]
    pub activity: String,
    /// The innermost frame of the app on its stack.
    pub root: Option<Site>,
    /// The thread's stack, innermost first.
    #[serde(serialize_with = "stack::serialize_stack")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<StackLine>"))]
    pub stack: Vec<StackLine>,
}

impl Owner {
    /// An owner of which only the name is known.
    #[must_use]
    pub fn unknown(thread: &str, tid: u32, lock: Option<String>) -> Self {
        let activity = "unknown".to_owned();
        Self { thread: thread.to_owned(), tid, lock, activity, root: None, stack: Vec::new() }
    }

    /// `SyncWorker.readReply, a network read`: where it is, in words.
    #[must_use]
    pub fn place(&self) -> String {
        let at = self.root.as_ref().or(self.stack.first().map(|line| &line.site));
        match at {
            Some(site) => format!("{} ({})", site.title(), self.activity),
            None => self.activity.clone(),
        }
    }
}

/// The thread that hung.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnsweredThread"))]
pub struct HungThread {
    /// The thread's name.
    pub name: String,
    /// The thread's id in the kernel, if known.
    pub tid: Option<u32>,
    /// True for the main thread.
    pub main: bool,
}

/// When a hang started and how long it lasted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// When it started, BOOTTIME ns.
    pub since: u64,
    /// How long it lasted as far as is known, ns.
    pub duration: u64,
    /// Whether it ended.
    pub ended: bool,
    /// Whether it started earlier than `since`: older events were overwritten.
    pub at_least: bool,
}

/// What hung and why.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// What happened to main.
    pub conclusion: Conclusion,
    /// The process, and its id.
    pub process: Option<String>,
    /// Its id.
    pub pid: Option<u32>,
    /// The thread that hung.
    pub thread: HungThread,
    /// When it hung; `None` for a dump, which shows a single moment.
    pub span: Option<Span>,
    /// The message that main was in.
    pub message: Option<String>,
    /// Why.
    pub cause: Cause,
    /// The frame in the app's own code to change.
    pub root: Option<Site>,
    /// The method in which a busy root's time is, if one stands out.
    pub mostly: Option<Mostly>,
    /// The method around a root that makes exceptions, which goes on after each of them.
    pub around: Option<Site>,
    /// The heaviest stack of that thread, innermost first.
    pub stack: Vec<StackLine>,
    /// Number of samples that the stack was built from; 0 if it was not sampled.
    pub samples: u64,
    /// The chain of owners: who owns the lock, who owns the lock that this thread waits for, and so on.
    pub owners: Vec<Owner>,
    /// The threads of a deadlock, the hung thread first if it is one of them; empty without a deadlock.
    pub cycle: Vec<String>,
    /// The facts that a dump cannot show, if it is all that is known of a hang: where a recording may say more, or something
    /// else.
    pub not_shown: Option<String>,
}

impl From<&Dump> for Answer {
    /// The answer of a thread dump.
    fn from(dump: &Dump) -> Self {
        let facts = Observed::of_dump(dump);
        let section = dump.answer();
        let anr_process = dump.anr_process();
        let name = section.and_then(|section| section.cmdline.clone());
        let process = name.or_else(|| anr_process.as_ref().and_then(|anr_process| anr_process.name.clone()));
        let pid =
            section.and_then(|section| section.pid).or(anr_process.and_then(|anr_process| anr_process.pid));
        let dumped = facts.dumped();
        let thread = HungThread {
            name: dumped.map_or_else(|| "main".to_owned(), |dumped| dumped.name.clone()),
            tid: dumped.and_then(|dumped| dumped.tid),
            main: dumped.is_none_or(|dumped| dumped.main),
        };
        Self::of(&facts, process, pid, thread, None)
    }
}

impl Answer {
    /// Decides the answer to these facts: `thread` is the one that they are about, `span` when it hung.
    #[must_use]
    pub fn of(
        facts: &Observed,
        process: Option<String>,
        pid: Option<u32>,
        thread: HungThread,
        span: Option<Span>,
    ) -> Self {
        let mut cause = Cause::of(facts);
        if !thread.main {
            cause
                .evidence
                .iter_mut()
                .for_each(|evidence| evidence.text = said_of(&thread.name, &evidence.text));
        }
        let conclusion = facts.conclusion(cause.id);
        let dumped = facts.dumped();
        let (stack, samples) = heaviest(facts);
        let of_a_lock = !cause.id.is_main_responsive() && cause.id != CauseId::OtherProcess;
        let native = facts.native.as_ref();
        let owners = [Some(&facts.owners), dumped.map(|d| &d.owners), native.map(|n| &n.owners)];
        let owners = if of_a_lock { first_known(owners) } else { Vec::new() };
        let cycle = match cause.id {
            CauseId::Deadlock => {
                first_known([dumped.map(|d| &d.cycle), Some(&facts.cycle), native.map(|n| &n.cycle)])
            }
            CauseId::DeadlockElsewhere => {
                first_known([dumped.map(|d| &d.other_cycle), Some(&facts.cycle), None])
            }
            _ => Vec::new(),
        };
        let root = root::of(facts, cause.id);
        Self {
            conclusion,
            process,
            pid,
            thread,
            span,
            message: facts.message.clone(),
            mostly: root.as_ref().and_then(|root| mostly::of(facts, cause.id, root)),
            around: root.as_ref().and_then(|root| root::around(facts, cause.id, root)),
            root,
            not_shown: not_shown::by_dump(cause.id, facts, &owners, span.is_some()),
            cause,
            stack,
            samples,
            owners,
            cycle,
        }
    }

    /// The place to change: `a.B.rows (B.java:7), mostly a.B.row (B.java:12), 4 of 5 samples`, or `a.B.number
    /// (B.java:12), again and again in a.B.rows (B.java:7)`.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let root = self.root.as_ref()?.title();
        Some(match (&self.mostly, &self.around) {
            (Some(Mostly { site, share, .. }), _) => format!("{root}, mostly {}, {share}", site.title()),
            (None, Some(around)) => format!("{root}, again and again in {}", around.title()),
            (None, None) => root,
        })
    }

    /// The threads of a deadlock in the order in which they wait, and the first one again.
    #[must_use]
    pub fn deadlock(&self) -> Option<String> {
        let closed = self.cycle.iter().chain(self.cycle.first()).map(|name| format!("\"{name}\""));
        (!self.cycle.is_empty()).then(|| closed.collect::<Vec<_>>().join(" waits for "))
    }

    /// The finding, in a sentence without a full stop.
    #[must_use]
    pub fn finding(&self) -> &str {
        self.cause.evidence.first().map_or("nothing says why", |evidence| &evidence.text)
    }
}

/// The first list that is not empty.
fn first_known<T: Clone>(lists: [Option<&Vec<T>>; 3]) -> Vec<T> {
    lists.into_iter().flatten().find(|list| !list.is_empty()).cloned().unwrap_or_default()
}

/// The stack to show and its number of samples: recorded calls if any of them has a name, else samples, else
/// the dump.
fn heaviest(facts: &Observed) -> (Vec<StackLine>, u64) {
    if let Some(native) = facts.native.as_ref().filter(|native| native.is_heaviest(facts)) {
        return (native.heaviest.clone(), native.stacks);
    }
    let named = facts.recorded.iter().any(|line| line.own && !root::is_method_number(&line.site.name));
    if named {
        return (facts.recorded.clone(), 0);
    }
    if facts.sampled.samples > 0 {
        return (facts.sampled.heaviest.clone(), facts.sampled.samples);
    }
    let dumped = facts.dumped().map(|dumped| dumped.stack.clone()).filter(|stack| !stack.is_empty());
    (dumped.unwrap_or_else(|| facts.recorded.clone()), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread of a JVM does that has used this CPU time of 10 s, in this state and these calls, innermost first.
    fn activity(cpu_ms: u32, state: &str, calls: &[&str]) -> Activity {
        let frames: String = calls.iter().map(|call| format!("\tat {call}(X.java:1)\n")).collect();
        let text = format!(
            "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n\
             \"main\" #1 prio=5 os_prio=0 cpu={cpu_ms}.00ms elapsed=10.00s tid=0x1 nid=0x1 runnable\n   \
             java.lang.Thread.State: {state}\n{frames}"
        );
        let dump = crate::dump::Dump::read(std::path::Path::new("dump"), text.as_bytes()).unwrap();
        thread_activity(dump.answer().unwrap().main().unwrap())
    }

    #[test]
    fn threads_that_ran_for_half_of_their_time_compute_whatever_they_ask() {
        let skips =
            ["sun.nio.ch.FileDispatcherImpl.seek0", "java.io.BufferedInputStream.skip", "a.B.skipFully"];
        assert_eq!(activity(6_000, "RUNNABLE", &skips), Activity::Java);
        assert_eq!(activity(4_000, "RUNNABLE", &skips), Activity::Of(CauseId::DiskIo));
    }

    #[test]
    fn threads_that_run_in_a_call_that_waits_compute() {
        let takes = ["java.util.concurrent.LinkedBlockingQueue.take", "a.B.drain"];
        let throws = ["java.lang.Throwable.fillInStackTrace", takes[0], takes[1]];
        let parks = ["jdk.internal.misc.Unsafe.park", takes[0], takes[1]];
        assert_eq!(activity(100, "RUNNABLE", &takes), Activity::Java);
        assert_eq!(activity(100, "RUNNABLE", &throws), Activity::Java);
        assert_eq!(activity(100, "WAITING (parking)", &parks), Activity::Of(CauseId::FutureWait));
        let reads =
            ["sun.nio.ch.SocketDispatcher.read0", "java.net.Socket$SocketInputStream.read", "a.B.ask"];
        assert_eq!(activity(100, "RUNNABLE", &reads), Activity::Of(CauseId::NetworkIo));
    }

    #[test]
    fn threads_that_sleep_in_a_library_sleep() {
        let waits = "com.google.common.util.concurrent.RateLimiter.acquire";
        let sleeps = ["java.lang.Thread.sleep", "java.util.concurrent.TimeUnit.sleep", waits, "a.B.admit"];
        assert_eq!(activity(9, "TIMED_WAITING (sleeping)", &sleeps), Activity::Of(CauseId::Sleep));
        let parks = ["java.util.concurrent.locks.LockSupport.park", waits, "a.B.admit"];
        assert_eq!(activity(9, "WAITING (parking)", &parks), Activity::Of(CauseId::FutureWait));
    }
}
