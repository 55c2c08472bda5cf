//! The facts about a hang, in the terms of the rules: plain values, be they from a recording or from a dump alone.

use trace_format::event::{CallId, Wait, WaitKind};

use super::activity::Activity;
use super::cause::Evidence;
use super::dump_summary::{DumpSummary, Wanted};
use super::exceptions;
use super::id::CauseId;
use super::native_summary::NativeSummary;
use super::recent_work::RecentWork;
use super::stack::StackLine;
use super::system_share::SystemShare;
use super::{Conclusion, Owner};
use crate::dump::{AnrKind, Dump, Subject};
use crate::words::{about, seconds};

/// The fewest samples that say where the time is.
pub(super) const LEAST_SAMPLES: u64 = 3;

/// All waits of one kind and cause for objects of one class in the message that hung.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitSum {
    /// The kind of wait.
    pub kind: WaitKind,
    /// The class of the object.
    pub class: Option<String>,
    /// The call, 0 if they were in several.
    pub call: CallId,
    /// The cause by what is recorded of them.
    pub cause: CauseId,
    /// The lock's owner in words, if it is known.
    pub owner: Option<String>,
    /// The method that was in them, if all were in one.
    pub method: Option<String>,
    /// The start of the first one.
    pub since: u64,
    /// The number of them.
    pub count: u64,
    /// Their total duration, ns.
    pub total: u64,
    /// The first one as recorded.
    pub first: Wait,
}

/// The activity and the stack that the samples of main's stack show.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SampleSummary {
    /// The number of samples.
    pub samples: u64,
    /// The number of samples per activity, most frequent first.
    pub activity: Vec<(Activity, u64)>,
    /// The innermost method of most samples.
    pub top: Option<String>,
    /// The app's own method that is in most samples; of equals the innermost.
    pub own: Option<(String, u64)>,
    /// The stack of most samples, innermost first; each frame has its number of samples.
    pub heaviest: Vec<StackLine>,
    /// The call to another process that most samples are in.
    pub remote: Option<String>,
    /// The method of the app's in which most samples make an exception, and their number.
    pub exceptions: Option<(String, u64)>,
}

/// Main's CPU time from polls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuTime {
    /// Time for which it ran, ns.
    pub ran: u64,
    /// Time for which it could have run and had no CPU, ns.
    pub runnable: u64,
    /// The time from the first poll to the last one, ns.
    pub polled: u64,
    /// The part of the polled time that ended with main in uninterruptible sleep.
    pub uninterruptible: u64,
    /// The longest time between two polls in which main was neither running, runnable nor sleeping: start and
    /// length.
    pub gap: (u64, u64),
}

/// Calls that were too short to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortCallSummary {
    /// The number of calls.
    pub calls: u64,
    /// The time at which the last of them were counted.
    pub last: u64,
    /// The method with the most of them, and its share in percent.
    pub hot: Option<(String, u64)>,
}

/// The recorded method that the busy one called and that took most time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CalleeSummary {
    /// The method.
    pub name: String,
    /// The number of recorded calls.
    pub calls: u64,
    /// Their total time, ns.
    pub total: u64,
    /// The recorded part of the hang, ns.
    pub of: u64,
}

/// The turns of a thread before one that goes on and on: each from the end of one rest to the begin of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turns {
    /// The number of them.
    pub number: usize,
    /// The time that half of them took at most, ns.
    pub usual: u64,
}

/// The facts that the rules decide by. Times are BOOTTIME ns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Observed {
    /// The time at which the hang was noticed, or the last moment.
    pub noticed: u64,
    /// Start of the hang; `asked` if main did not hang.
    pub since: u64,
    /// True if there is a hang.
    pub hung: bool,
    /// True if the hang, or the system's request, is an ANR.
    pub anr: bool,
    /// The time at which the process judged the ANR to be another process's, and the reason.
    pub others: Option<(u64, String)>,
    /// The message that main was in during the hang.
    pub message: Option<String>,
    /// The name of main's unit when the system requested the dump, from recorded calls or samples; `None` if main polled.
    pub open: Option<String>,
    /// The innermost recorded method that was open for half of the hang, and since when.
    pub method: Option<(String, u64)>,
    /// The recorded callee of a busy method with the most time.
    pub callee: Option<CalleeSummary>,
    /// The recorded calls open on main, innermost first.
    pub recorded: Vec<StackLine>,
    /// The chain of owners: who owns the lock that main waits for, who owns the lock that this thread waits
    /// for, and so on.
    pub owners: Vec<Owner>,
    /// Of a wait for a coroutine, the cause by what the coroutine waits for; `RunBlocking` if that is not known.
    pub run_blocking: Option<CauseId>,
    /// The reason why main's wait is not over, by the recorded steps of concurrent work, and the chain in words.
    pub chain: Option<(CauseId, String)>,
    /// Threads that wait for each other by their recorded waits; main first if it is one of them.
    pub cycle: Vec<String>,
    /// True if main is in that cycle or waits for it.
    pub cycle_reached: bool,
    /// The thread's turns before, if the hang is one that goes on and on.
    pub turns: Option<Turns>,
    /// Calls by main during the hang that were too short to be recorded.
    pub short: Option<ShortCallSummary>,
    /// Time for which coarse time stood still during the hang, ns.
    pub standstill: u64,
    /// The times at which main recovered from the hang, and at which the system requested the dump after that.
    pub came_back: Option<(u64, u64)>,
    /// Number of main's events during the hang, and the time of the last one.
    pub events: (u64, u64),
    /// The waits of the hang, by kind and target.
    pub waits: Vec<WaitSum>,
    /// Main's CPU time during the hang.
    pub cpu: CpuTime,
    /// The share of the process's other threads, and of the rest of the device.
    pub share: Option<SystemShare>,
    /// Time for which the device was suspended during the hang, ns.
    pub slept: u64,
    /// The five seconds before the hang was noticed.
    pub before: RecentWork,
    /// The dump that shows the thread, and its time; [`Observed::set_dump`] sets it.
    pub dump: Option<(u64, DumpSummary)>,
    /// The samples of main's stack.
    pub sampled: SampleSummary,
    /// Main's `Thread.State` at the ANR.
    pub state: Option<String>,
    /// The scheduler group of the process.
    pub cgroup: Option<String>,
    /// The reason that the system gave for its request.
    pub subject: Option<Subject>,
    /// The native stacks of the thread that hung.
    pub native: Option<NativeSummary>,
    /// True for a program on a JVM, without Android and without messages.
    pub on_jvm: bool,
    /// The finding about a thread that missed its heartbeat, if that is what the facts are about.
    pub missed_beat: Option<String>,
}

/// Returns true if `part` is at least half of `whole`; safe for any numbers that a file may have.
pub(super) fn is_half(part: u64, whole: u64) -> bool {
    part >= whole.div_ceil(2)
}

impl Observed {
    /// The facts of a thread dump alone.
    pub fn of_dump(dump: &Dump) -> Self {
        let others = match (dump.anr_process(), dump.answer()) {
            (Some(anr_process), None) if dump.sections.iter().any(|section| !section.threads.is_empty()) => {
                Some((0, format!("the dump is about {}, whose stacks are not in it", anr_process.title())))
            }
            _ => None,
        };
        let anr = dump.subject.is_some() || dump.anr_process().is_some();
        let on_jvm = dump.is_of_a_jvm();
        let mut found = Self { hung: true, anr: others.is_none() && anr, others, on_jvm, ..Self::default() };
        found.set_dump(0, dump, None, Wanted::Asked);
        found
    }

    /// Adds a dump; returns whether it has the wanted thread.
    pub fn set_dump(&mut self, at: u64, dump: &Dump, pid: Option<u32>, wanted: Wanted<'_>) -> bool {
        if let Some(subject) = &dump.subject {
            self.subject.get_or_insert_with(|| subject.clone());
        }
        let before = self.dump.take();
        let dumped = DumpSummary::of(dump, pid, wanted).map(|mut dumped| {
            // The last dump of an agent has no samples.
            let earlier = before.as_ref().filter(|(_, before)| before.name == dumped.name);
            if let Some((_, earlier)) = earlier.filter(|_| dumped.samples.is_empty()) {
                dumped.take_samples(earlier);
            }
            (at, dumped)
        });
        self.dump = dumped.or(before);
        self.dump.as_ref().is_some_and(|(_, dumped)| dumped.activity.is_some())
    }

    /// Main in the dump.
    pub fn dumped(&self) -> Option<&DumpSummary> {
        self.dump.as_ref().map(|(_, dumped)| dumped)
    }

    /// True if all that is known is one dump of a JVM: nothing says for how long its threads have been where they are.
    pub(super) fn is_of_a_moment(&self) -> bool {
        self.on_jvm && self.noticed == 0
    }

    /// True if moreover nothing is owed to the thread.
    pub(super) fn is_idle_in_a_dump(&self) -> bool {
        self.is_of_a_moment() && self.dumped().is_some_and(|dumped| dumped.idle && dumped.cycle.is_empty())
    }

    pub(super) fn duration(&self) -> u64 {
        self.noticed.saturating_sub(self.since)
    }

    /// The verdict for a cause.
    pub(super) fn conclusion(&self, cause: super::CauseId) -> Conclusion {
        match cause {
            super::CauseId::OtherProcess => Conclusion::OtherProcess,
            super::CauseId::Recovered => Conclusion::Recovered,
            _ if self.anr => Conclusion::Anr,
            cause if cause.is_main_responsive() => Conclusion::NoHang,
            _ if self.hung => Conclusion::Hang,
            _ => Conclusion::NoHang,
        }
    }

    /// The longest sum of waits of these kinds, if it is at least half of the hang.
    pub(super) fn mostly_waited(&self, fits: impl Fn(&WaitSum) -> bool) -> Option<&WaitSum> {
        let longest = self.waits.iter().filter(|sum| fits(sum)).max_by_key(|sum| sum.total)?;
        (longest.total > 0 && is_half(longest.total, self.duration())).then_some(longest)
    }

    /// Returns true if main ran for half of the time polled.
    pub(super) fn ran_half(&self) -> bool {
        self.cpu.polled > 0 && is_half(self.cpu.ran, self.cpu.polled)
    }

    /// Returns true if main slept through most of the polled time: then it was not busy, even if its stack suggests
    /// that.
    pub(super) fn slept_through(&self) -> bool {
        let CpuTime { ran, runnable, polled, .. } = self.cpu;
        polled > 0 && !is_half(ran.saturating_add(runnable), polled) && ran < polled / 5
    }

    /// Evidence that half of the native stacks or of the samples, or the dump, show main in this activity.
    pub(super) fn shows_activity(&self, what: impl Fn(Activity) -> bool) -> Option<(Activity, Evidence)> {
        if let Some(native) = self.native.as_ref().filter(|native| !native.is_about_java()) {
            return native.shows(what);
        }
        let SampleSummary { samples, activity, top, .. } = &self.sampled;
        if *samples > 0 {
            let fits = || activity.iter().filter(|(activity, _)| what(*activity));
            let count = fits().map(|(_, count)| *count).sum::<u64>();
            let (first, _) = fits().next()?;
            let top = top.as_deref().unwrap_or("?");
            let text = format!("{count} of {samples} samples of main's stack are in {top}");
            return is_half(count, *samples).then(|| (*first, Evidence::new(0, text)));
        }
        let (at, dump) = self.dump.as_ref()?;
        let found = dump.activity.filter(|activity| what(*activity))?;
        let state = if dump.state.is_empty() { String::new() } else { format!("{} ", dump.state) };
        let text = format!("the dump shows main {state}in {}", dump.top().unwrap_or("?"));
        Some((found, Evidence::new(*at, text)))
    }

    /// The method in which most stacks make an exception, the number of these, and of all: of the samples, or else of the dump's
    /// one.
    pub(super) fn exceptions(&self) -> Option<(String, u64, u64)> {
        if self.sampled.samples > 0 {
            let (name, count) = self.sampled.exceptions.clone()?;
            return Some((name, count, self.sampled.samples));
        }
        let dumped = self.dumped()?;
        if dumped.samples.is_empty() {
            let name = exceptions::maker(dumped.stack.iter().map(|line| line.site.name.as_str()))?;
            return Some((name.to_owned(), 1, 1));
        }
        exceptions::most_made(&dumped.samples)
    }

    /// Evidence: what main was in.
    pub(super) fn was_in(&self) -> Option<Evidence> {
        let (name, since) = self.method.as_ref()?;
        let took = seconds(self.noticed.saturating_sub(*since));
        Some(Evidence::new(*since, format!("{name} was open for {took}")))
    }

    /// Evidence: which thread missed its heartbeat.
    pub(super) fn missed(&self) -> Option<Evidence> {
        Some(Evidence::new(self.since, self.missed_beat.clone()?))
    }

    /// Evidence: what main called too briefly to be recorded.
    pub(super) fn short_calls(&self) -> Option<Evidence> {
        let ShortCallSummary { calls, hot, .. } = self.short.as_ref()?;
        let calls = about(*calls);
        let text = match hot {
            Some((name, percent)) => {
                format!("{percent} % of about {calls} calls too short to record were {name}")
            }
            None => format!("about {calls} calls were too short to record"),
        };
        Some(Evidence::new(0, text))
    }

    /// Evidence: main's CPU time.
    pub(super) fn used(&self) -> Option<Evidence> {
        let CpuTime { ran, runnable, polled, .. } = self.cpu;
        let [ran, runnable, of] = [ran, runnable, polled].map(seconds);
        let text = format!("main was running for {ran} and runnable for {runnable} of {of}");
        (polled > 0).then(|| Evidence::new(0, text))
    }

    /// The component that the system waited for, if it said so.
    pub(super) fn component(&self) -> Option<AnrKind> {
        self.subject.as_ref().map(|subject| subject.kind)
    }

    /// Returns true if main had nothing to do when the system requested the dump. An open call, or a sample outside of
    /// the poll, is something to do.
    pub(super) fn main_was_idle(&self) -> bool {
        let idle =
            self.dumped().is_some_and(|dump| dump.activity == Some(Activity::Of(super::CauseId::Idle)));
        // While coarse time stood still, something may have run unrecorded.
        (self.hung || self.anr)
            && self.open.is_none()
            && self.method.is_none()
            && self.standstill == 0
            && (idle || !self.hung && self.dump.is_none())
    }

    /// Evidence: what the system waited for, in its words.
    pub(super) fn system_request(&self) -> Option<Evidence> {
        let subject = self.subject.as_ref()?;
        Some(Evidence::new(0, format!("the system's subject: {}", subject.text)))
    }

    /// Returns the evidence that is missing.
    pub(super) fn missing_evidence(&self) -> Vec<Evidence> {
        let mut found = Vec::new();
        let mut add = |text: &str| found.push(Evidence::new(0, text.to_owned()));
        if let Some(missed) = &self.missed_beat {
            add(missed);
        } else if !self.hung && !self.anr {
            add("nothing hung");
        } else {
            if let Some(open) = self.open.as_ref().filter(|_| !self.hung) {
                add(&format!("main was in {open} when the system asked"));
            }
            match (&self.method, self.standstill) {
                (Some(_), _) => {}
                (None, _) if self.dump.is_some() => {}
                (None, 0) => add("no instrumented method was open"),
                (None, still) => add(&format!(
                    "coarse time stood still for {}: what main called meanwhile is not recorded",
                    seconds(still)
                )),
            }
            if self.noticed > 0 && self.cpu.polled == 0 {
                add("main's CPU time was not polled");
            }
            if self.dump.is_none() && self.sampled.samples == 0 {
                add("there is neither a dump nor a sample of main's stack");
            }
        }
        found.extend(self.used());
        found
    }
}
