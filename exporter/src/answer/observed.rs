//! The facts about a hang, in the terms of the rules: plain values, whether they come from a recording or from
//! a dump alone.

use std::collections::HashMap;
use std::hash::Hash;

use trace_format::event::{Clocks, Usage, Wait, WaitKind};

use super::activity::{Activity, FrameView, classify, counted, parts, remote_call};
use super::cause::Evidence;
use super::dumped_main::{DumpedMain, Wanted};
use super::id::CauseId;
use super::native_summary::NativeSummary;
use super::own::is_own;
use super::stack::StackLine;
use super::system_share::SystemShare;
use super::{Conclusion, Owner};
use crate::dump::{AnrKind, Dump, Subject};
use crate::facts::{RecentWork, Sample, Unit};
use crate::words::{about, seconds};

/// All waits of one kind for one target in the message that hung.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WaitSum {
    /// The kind of wait.
    pub(crate) kind: WaitKind,
    /// The lock's class, or the blocking call.
    pub(crate) what: Option<String>,
    /// The lock's owner in words, if it is known.
    pub(crate) owner: Option<String>,
    /// The method that was in them, if all were in one.
    pub(crate) method: Option<String>,
    /// When the first one started.
    pub(crate) since: u64,
    /// How many there were.
    pub(crate) count: u64,
    /// Their total duration, ns.
    pub(crate) total: u64,
    /// The first one as recorded.
    pub(crate) first: Wait,
}

/// What the samples of main's stack show.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct SampleSummary {
    pub(crate) samples: u64,
    /// The number of samples per activity, most frequent first.
    pub(crate) activity: Vec<(Activity, u64)>,
    /// The innermost method of most samples.
    pub(crate) top: Option<String>,
    /// The app's own method that is in most samples; of equals the innermost.
    pub(crate) own: Option<(String, u64)>,
    /// The stack of most samples, innermost first; each frame has its number of samples.
    pub(crate) heaviest: Vec<StackLine>,
    /// The call to another process that most samples are in.
    pub(crate) remote: Option<String>,
}

/// Main's CPU time from polls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CpuTime {
    pub(crate) ran: u64,
    pub(crate) runnable: u64,
    pub(crate) polled: u64,
    /// How much of the polled time ended with main in uninterruptible sleep.
    pub(crate) uninterruptible: u64,
    /// The longest time between two polls in which main was neither running, runnable nor sleeping: start and
    /// length.
    pub(crate) gap: (u64, u64),
}

/// Calls that were too short to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ShortCallSummary {
    pub(crate) calls: u64,
    /// When the last of them were counted.
    pub(crate) last: u64,
    /// The method with the most of them, and its share in percent.
    pub(crate) hot: Option<(String, u64)>,
}

/// The facts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Observed {
    /// When the hang was noticed, or the last moment.
    pub(crate) noticed: u64,
    /// Start of the hang; `asked` if main did not hang.
    pub(crate) since: u64,
    /// Whether there is a hang, and whether it is an ANR.
    pub(crate) hung: bool,
    pub(crate) anr: bool,
    /// When and why the process judged the ANR to be another process's.
    pub(crate) others: Option<(u64, String)>,
    /// What main was in during the hang.
    pub(crate) message: Option<String>,
    /// What main was in when the system requested the dump, from recorded calls or samples; `None` if it
    /// polled.
    pub(crate) open: Option<Unit>,
    /// The innermost recorded method that was open for half of the hang, and since when.
    pub(crate) method: Option<(String, u64)>,
    /// The recorded calls open on main, innermost first.
    pub(crate) recorded: Vec<StackLine>,
    /// The chain of owners: who owns the lock that main waits for, who owns the lock that this thread waits
    /// for, and so on.
    pub(crate) owners: Vec<Owner>,
    /// Of a wait for a coroutine, the cause by what the coroutine waits for; `RunBlocking` if that is not known.
    pub(crate) run_blocking: Option<CauseId>,
    /// Why main's wait is not over, by the recorded steps of concurrent work, and the chain in words.
    pub(crate) chain: Option<(CauseId, String)>,
    /// Threads that wait for each other by their recorded waits; main first if it is one of them.
    pub(crate) cycle: Vec<String>,
    /// Whether main is in that cycle or waits for it.
    pub(crate) cycle_reached: bool,
    /// Calls by main during the hang that were too short to be recorded.
    pub(crate) short: Option<ShortCallSummary>,
    /// How long coarse time stood still during the hang, ns.
    pub(crate) standstill: u64,
    /// When main recovered from the hang, and when the system requested the dump after that.
    pub(crate) came_back: Option<(u64, u64)>,
    /// Number of main's events during the hang, and the time of the last one.
    pub(crate) events: (u64, u64),
    pub(crate) waits: Vec<WaitSum>,
    pub(crate) cpu: CpuTime,
    /// What the process's other threads and the rest of the device did.
    pub(crate) share: Option<SystemShare>,
    /// How long the device was suspended during the hang, ns.
    pub(crate) slept: u64,
    /// The five seconds before the hang was noticed.
    pub(crate) before: RecentWork,
    pub(crate) dump: Option<(u64, DumpedMain)>,
    pub(crate) sampled: SampleSummary,
    /// Main's `Thread.State` at the ANR.
    pub(crate) state: Option<String>,
    /// The scheduler group of the process.
    pub(crate) cgroup: Option<String>,
    /// The reason that the system gave for its request.
    pub(crate) subject: Option<Subject>,
    /// What the native stacks of the thread that hung show.
    pub(crate) native: Option<NativeSummary>,
    /// Whether it is a program on a JVM, without Android and without messages.
    pub(crate) on_jvm: bool,
    /// The finding about a thread that missed its heartbeat, if that is what the facts are about.
    pub(crate) missed_beat: Option<String>,
}

/// Whether `part` is at least half of `whole`; safe for any numbers that a file may have.
pub(super) fn is_half(part: u64, whole: u64) -> bool {
    part >= whole.div_ceil(2)
}

/// Sums main's CPU time over its polls.
pub(crate) fn cpu_time(usage: &[(u64, Usage)], from: u64, to: u64) -> CpuTime {
    let mut sum = CpuTime::default();
    let within = usage.iter().filter(|(at, _)| (from..=to).contains(at));
    for pair in within.collect::<Vec<_>>().windows(2) {
        let [(begin, a), (end, b)] = pair else { continue };
        let polled = end.saturating_sub(*begin);
        let (ran, runnable) = (b.ran.saturating_sub(a.ran), b.waited.saturating_sub(a.waited));
        sum.ran = sum.ran.saturating_add(ran);
        sum.runnable = sum.runnable.saturating_add(runnable);
        sum.polled = sum.polled.saturating_add(polled);
        if b.state == b'D' {
            sum.uninterruptible = sum.uninterruptible.saturating_add(polled);
        }
        let still = polled.saturating_sub(ran).saturating_sub(runnable);
        // A frozen process neither sleeps nor runs, and its poller stops with it.
        if b.state == b'R' && still > sum.gap.1 {
            sum.gap = (*begin, still);
        }
    }
    sum
}

/// How long the device was suspended between two moments: BOOTTIME advances, MONOTONIC does not.
pub(crate) fn slept(clocks: &[Clocks], from: u64, to: u64) -> u64 {
    let ahead = |c: &Clocks| c.boottime.saturating_sub(c.monotonic);
    let before = clocks.iter().filter(|c| c.boottime <= from).map(ahead).next_back();
    let within = clocks.iter().filter(|c| (from..=to).contains(&c.boottime)).map(ahead);
    let all = || before.into_iter().chain(within.clone());
    all().max().unwrap_or(0) - all().min().unwrap_or(0)
}

/// What samples of main show; `state` is its thread state, if known.
pub(crate) fn sampled<'a>(samples: impl Iterator<Item = Sample<'a>> + Clone, state: &str) -> SampleSummary {
    let mut found = SampleSummary::default();
    let mut own: HashMap<&str, (u64, u64)> = HashMap::new();
    for sample in samples.clone() {
        found.samples += 1;
        let mut seen: Vec<&str> = Vec::new();
        for (depth, name) in sample.frames().map(method).enumerate() {
            if is_own(parts(name).0) && !seen.contains(&name) && seen.len() < 64 {
                seen.push(name);
                let entry = own.entry(name).or_insert((0, 0));
                *entry = (entry.0 + 1, entry.1 + depth as u64);
            }
        }
    }
    found.activity = counted(samples.clone().map(|s| classify(s.frames().map(FrameView::java), state)));
    let top = most_frequent(samples.clone().filter_map(|s| s.frames().map(method).next()));
    found.top = top.map(|(name, _)| name.to_owned());
    let remote = most_frequent(samples.clone().filter_map(|s| remote_call(s.frames().map(FrameView::java))));
    found.remote = remote.map(|(name, _)| name);
    // The method in most samples; of equals the innermost.
    let best = own.iter().max_by_key(|(name, (count, depth))| (*count, std::cmp::Reverse((*depth, **name))));
    found.own = best.map(|(name, (count, _))| ((*name).to_owned(), *count));
    found.heaviest = heaviest(samples);
    found
}

/// The frame without its place.
fn method(frame: &str) -> &str {
    frame.split_once('(').map_or(frame, |(name, _)| name)
}

/// The most frequent of `all` and how often it comes; of equals the smallest.
fn most_frequent<T: Hash + Ord>(all: impl Iterator<Item = T>) -> Option<(T, u64)> {
    let mut counts: HashMap<T, u64> = HashMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts.into_iter().max_by(|(a, n), (b, m)| n.cmp(m).then_with(|| b.cmp(a)))
}

/// Maximum number of frames kept of the heaviest stack.
const MAX_HEAVIEST: usize = 512;

/// The stack that most samples share, from the outermost frame on: at each depth the method that most of them
/// have, with its most frequent line.
fn heaviest<'a>(samples: impl Iterator<Item = Sample<'a>>) -> Vec<StackLine> {
    let mut stacks: Vec<Vec<&str>> = samples.map(|sample| sample.frames().collect()).collect();
    for stack in &mut stacks {
        stack.reverse();
    }
    let mut lines = Vec::new();
    for depth in 0..MAX_HEAVIEST {
        let at = |stack: &Vec<&'a str>| stack.get(depth).copied();
        let Some((name, count)) = most_frequent(stacks.iter().filter_map(at).map(method)) else { break };
        stacks.retain(|stack| at(stack).is_some_and(|frame| method(frame) == name));
        let frame = most_frequent(stacks.iter().filter_map(at)).map_or(name, |(frame, _)| frame);
        lines.push(StackLine::sampled(frame, Some(count)));
    }
    lines.reverse();
    lines
}

impl Observed {
    /// The facts of a thread dump alone.
    pub(crate) fn of_dump(dump: &Dump) -> Self {
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
    pub(crate) fn set_dump(&mut self, at: u64, dump: &Dump, pid: Option<u32>, wanted: Wanted<'_>) -> bool {
        if let Some(subject) = &dump.subject {
            self.subject.get_or_insert_with(|| subject.clone());
        }
        let dumped = DumpedMain::of(dump, pid, wanted);
        self.dump = dumped.map(|dumped| (at, dumped)).or_else(|| self.dump.take());
        self.dump.as_ref().is_some_and(|(_, dumped)| dumped.activity.is_some())
    }

    /// Main in the dump.
    pub(crate) fn dumped(&self) -> Option<&DumpedMain> {
        self.dump.as_ref().map(|(_, dumped)| dumped)
    }

    /// True if all that is known is a dump of a JVM, and nothing is owed to the thread.
    pub(super) fn is_idle_in_a_dump(&self) -> bool {
        self.on_jvm
            && self.noticed == 0
            && self.dumped().is_some_and(|dumped| dumped.idle && dumped.cycle.is_empty())
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

    /// Whether main ran for half of the time polled.
    pub(super) fn ran_half(&self) -> bool {
        self.cpu.polled > 0 && is_half(self.cpu.ran, self.cpu.polled)
    }

    /// Whether main slept through most of the polled time: then it was not busy, even if its stack suggests
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
        Some((
            found,
            Evidence::new(*at, format!("the dump shows main {state}in {}", dump.top().unwrap_or("?"))),
        ))
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
        let text = format!(
            "main was running for {} and runnable for {} of {}",
            seconds(ran),
            seconds(runnable),
            seconds(polled)
        );
        (polled > 0).then(|| Evidence::new(0, text))
    }

    /// The component that the system waited for, if it said so.
    pub(super) fn component(&self) -> Option<AnrKind> {
        self.subject.as_ref().map(|subject| subject.kind)
    }

    /// Whether main had nothing to do when the system requested the dump. An open call, or a sample outside of
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

    /// Which evidence is missing.
    pub(super) fn missing_evidence(&self) -> Vec<Evidence> {
        let mut found = Vec::new();
        let mut add = |text: &str| found.push(Evidence::new(0, text.to_owned()));
        if let Some(missed) = &self.missed_beat {
            add(missed);
        } else if !self.hung && !self.anr {
            add("nothing hung");
        } else {
            if let Some(open) = self.open.as_ref().filter(|_| !self.hung) {
                add(&format!("main was in {} when the system asked", open.name));
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
