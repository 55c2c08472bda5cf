//! The summary of a dump for the thread that the answer is about: what it does, who owns its lock, and which threads wait for
//! each other.

use std::collections::HashMap;

use super::CauseId;
use super::activity::{self, Activity, remote_call};
use super::due::{Due, due_to_dumped, is_ending};
use super::dumped_why::DumpedWhy;
use super::system_share::collects;
use super::{Owner, thread_activity};

use super::stack::{self, Site, StackLine};
use crate::dump::{
    Channels, Dump, Fact, FactValue, LockGraph, LockKind, SampledStack, Section, SectionKind, Standing,
    StateKind, Thread, facts,
};

/// Number of innermost frames in which an engine shows.
const ENGINE_FRAMES: usize = 32;

/// The facts of a dump about main, or about another thread that was asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DumpSummary {
    /// The thread's name.
    pub name: String,
    /// The thread's id in the kernel.
    pub tid: Option<u32>,
    /// False if the dump is about another thread.
    pub main: bool,
    /// The thread's state, as the dump has it.
    pub(crate) state: String,
    /// What it does; `None` if the dump has no main thread.
    pub(crate) activity: Option<Activity>,
    /// The stack, innermost first.
    pub stack: Vec<StackLine>,
    /// True if nothing is owed to it: it waits for work, for a time or for a client.
    pub(crate) idle: bool,
    /// If samples show that it computed for seconds, where.
    pub(crate) computes: Option<Computes>,
    /// The collector's CPU time beside its own, in a dump of HotSpot.
    pub(crate) collector: Option<CollectorTime>,
    /// The stacks in these samples.
    pub(crate) samples: Vec<SampledStack>,
    /// The call to another process that it is in, such as `IFoo.bar`.
    pub(crate) remote: Option<String>,
    /// The engine whose code is on its stack.
    pub(crate) engine: Option<&'static str>,
    /// The lock that it waits for: its class, if the dump names one.
    pub(crate) lock: Option<Option<String>>,
    /// The chain of owners: who owns its lock, who owns the lock that this thread waits for, and so on.
    pub(crate) owners: Vec<Owner>,
    /// The names of the threads of a deadlock that main is in, or waits for.
    pub(crate) cycle: Vec<String>,
    /// Whether an owner in the cycle was inferred.
    pub(crate) cycle_inferred: bool,
    /// The names of the threads of a deadlock that main is not part of.
    pub(crate) other_cycle: Vec<String>,
    /// Why its wait for another thread is not over.
    pub(crate) why: Option<DumpedWhy>,
    /// Whether the freezer holds the process.
    pub(crate) frozen: bool,
    /// Whether it is in uninterruptible sleep.
    pub(crate) uninterruptible: bool,
    /// Where it waits in the kernel.
    pub(crate) channel: Option<String>,
    /// Heap: percent free.
    pub(crate) heap_free: Option<u64>,
    /// Percentage of the last 10 s in which all threads of the device waited for memory.
    pub(crate) memory_pressure: Option<f64>,
}

/// The thread that is looked for in a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted<'n> {
    /// The main thread.
    Main,
    /// The first one with this name.
    Named(&'n str),
    /// The one that the dump's answer is about: [`Section::asked`].
    Asked,
}

/// The CPU time of the threads that collect garbage, and of a thread, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CollectorTime {
    /// The collector's.
    pub(crate) collected: u64,
    /// The thread's.
    pub(crate) ran: u64,
    /// The age of the process, ns.
    pub(crate) lived: u64,
}

impl CollectorTime {
    /// By the first lines of the threads, which have both times from Java 11 on.
    fn of(section: &Section, thread: &Thread) -> Option<Self> {
        let is_collector = |thread: &&Thread| thread.name.as_deref().is_some_and(collects);
        let collectors = section.threads.iter().filter(is_collector);
        Some(Self {
            collected: collectors.filter_map(|thread| thread.cpu_ns).sum(),
            ran: thread.cpu_ns?,
            lived: section.threads.iter().filter_map(|thread| thread.elapsed_ns).max()?,
        })
    }
}

impl DumpSummary {
    /// The wanted thread of process `pid` if the dump has it, else of the process that the dump is about; `None` if the dump
    /// lacks that thread.
    pub(crate) fn of<'d>(dump: &'d Dump, pid: Option<u32>, wanted: Wanted<'_>) -> Option<Self> {
        let of_pid = |section: &&Section| {
            pid.is_some()
                && section.pid == pid
                && section.kind == SectionKind::Threads
                && section.main().is_some()
        };
        // A dump by the system includes the native stacks of the process.
        let app = |section: &&Section| section.main().is_some_and(|main| main.state.is_some());
        let sections = || dump.sections.iter().filter(of_pid);
        let foreign = |section: &&Section| pid.is_none() || section.pid.is_none() || section.pid == pid;
        let section =
            sections().find(app).or_else(|| sections().next()).or_else(|| dump.answer().filter(foreign));
        let pid = pid
            .or_else(|| section.and_then(|s| s.pid))
            .or_else(|| dump.anr_process().and_then(|anr_process| anr_process.pid));
        let frozen = dump.sections.iter().filter(|s| pid.is_none() || s.pid.is_none() || s.pid == pid).any(
            |section| {
                let main = section.channels.iter().find(|channel| Some(channel.sys_tid) == section.pid);
                main.is_some_and(|main| is_freezer(&main.channel))
            },
        );
        let thread = |section: &'d Section| match wanted {
            Wanted::Main => section.main(),
            Wanted::Named(name) => section.threads.iter().find(|thread| thread.name.as_deref() == Some(name)),
            Wanted::Asked => section.asked(),
        };
        let Some((section, main)) =
            section.and_then(|s| Some((s, thread(s).filter(|thread| !is_ending(thread))?)))
        else {
            let other_cycle = section.map(cycle_of).unwrap_or_default();
            let found = Self { frozen, other_cycle, name: "main".to_owned(), main: true, ..Self::default() };
            return (frozen || !found.other_cycle.is_empty()).then_some(found);
        };
        let channel = Channels::of(dump).get(section, main).map(str::to_owned);
        let mut found = Self::of_main(section, main);
        found.frozen |= frozen
            || found.activity == Some(Activity::Of(CauseId::Frozen))
            || channel.as_deref().is_some_and(is_freezer);
        found.channel = channel;
        let lists = [&section.facts, &dump.facts];
        let heap = lists.iter().find_map(|list| list.iter().find(|fact| fact.key == "heap_free_percent"));
        if let Some(Fact { value: FactValue::Number(percent), .. }) = heap {
            found.heap_free = Some(*percent);
        }
        // The system writes this before each dump: the last one belongs to this dump.
        let pressure =
            lists.iter().rev().find_map(|list| facts::text(list, "pressure_memory_full_avg10_percent"));
        found.memory_pressure = pressure.and_then(|percent| percent.parse().ok());
        Some(found)
    }

    fn of_main(section: &Section, main: &Thread) -> Self {
        let state = main.state.clone().unwrap_or_default();
        let mut found = Self {
            name: main.name.clone().unwrap_or_else(|| "main".to_owned()),
            tid: main.sys_tid.or(main.tid),
            main: section.main().is_some_and(|of_section| std::ptr::eq(of_section, main)),
            activity: (!main.frames.is_empty() || !state.is_empty()).then(|| thread_activity(main)),
            stack: stack::of_thread(main),
            idle: match due_to_dumped(main) {
                Due::Nothing => !section.is_starved(main),
                // Main of a server waits for its end.
                Due::Unknown => section.serves_beside(main),
                Due::Owed | Due::Result => false,
            },
            computes: Computes::of(section, main),
            collector: CollectorTime::of(section, main),
            samples: standing(section, main).map_or_else(Vec::new, |standing| standing.samples.clone()),
            remote: remote_call(stack::seen(main)),
            engine: stack::seen(main).take(ENGINE_FRAMES).find_map(activity::engine),
            uninterruptible: main.native_state == Some('D')
                || activity::is_uninterruptible(stack::seen(main)),
            state,
            ..Self::default()
        };
        // ART waits on the class itself for another thread's <clinit>, without an `Object.wait` frame.
        let for_class = main.locks.iter().any(|lock| {
            lock.kind == LockKind::WaitingOn
                && lock.frame == Some(0)
                && lock.class.as_deref().is_some_and(|class| class.starts_with("java.lang.Class<"))
        });
        found.reads_or_computes();
        if for_class && found.activity == Some(Activity::Java) {
            found.activity = Some(Activity::Of(CauseId::ClassLoading));
        }
        found.locks(section, main);
        found
    }

    /// Takes the samples of an earlier dump, and that the thread computed if it still is in that method.
    pub(super) fn take_samples(&mut self, earlier: &Self) {
        self.samples.clone_from(&earlier.samples);
        let still = |computes: &&Computes| self.stack.iter().any(|line| line.site.name == computes.site.name);
        self.computes = self.computes.take().or_else(|| earlier.computes.as_ref().filter(still).cloned());
        self.reads_or_computes();
    }

    /// Samples and their CPU time say more than the moment of one stack.
    fn reads_or_computes(&mut self) {
        let reads = matches!(self.activity, Some(Activity::Of(CauseId::DiskIo | CauseId::NetworkIo)));
        if self.computes.is_some() && reads {
            self.activity = Some(Activity::Java);
        }
    }

    fn locks(&mut self, section: &Section, main: &Thread) {
        let graph = LockGraph::from(section);
        if let Some(wanted) = main.awaited_lock() {
            self.lock = Some(wanted.class.clone());
        } else if self.activity == Some(Activity::Of(CauseId::LockWait)) && self.is_blocked() {
            self.lock = Some(None);
        }
        let Some(tid) = main.tid else { return };
        let chain = graph.chain(tid, LockGraph::MAX_CHAIN);
        let mut passed = vec![tid];
        for edge in &chain {
            if passed.contains(&edge.to) {
                break;
            }
            passed.push(edge.to);
            self.owners.push(match section.thread(edge.to) {
                Some(thread) => owner(thread, edge.class.clone()),
                None => Owner::unknown(&name(None, edge.to), edge.to, edge.class.clone()),
            });
        }
        let in_reach = |cycle: &&Vec<u32>| cycle.iter().any(|tid| passed.contains(tid));
        let sure = graph.deadlocks.iter().find(in_reach);
        let found = sure.or_else(|| graph.possible_deadlocks.iter().find(in_reach));
        if let Some(cycle) = found {
            let from = cycle.iter().position(|member| *member == tid).unwrap_or(0);
            self.cycle = names(section, cycle[from..].iter().chain(&cycle[..from]));
            self.cycle_inferred = sure.is_none();
        }
        let other = graph.deadlocks.iter().chain(&graph.possible_deadlocks).find(|cycle| !in_reach(cycle));
        self.other_cycle = other.map(|cycle| names(section, cycle)).unwrap_or_default();
        self.why = DumpedWhy::of(section, main, &graph);
    }

    /// Whether main waits to enter a monitor.
    pub(crate) fn is_blocked(&self) -> bool {
        StateKind::from(self.state.as_str()) == StateKind::Blocked
    }

    /// The name of the innermost frame.
    pub(crate) fn top(&self) -> Option<&str> {
        self.stack.first().map(|line| line.site.name.as_str())
    }
}

/// The place where samples of a thread, and its CPU time at each of them, show that it computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Computes {
    /// The innermost method of the app's that the samples share.
    pub(crate) site: Site,
    /// The time between the first and the last of them, ns. From each to the next one the thread ran for half of the time or
    /// more.
    pub(crate) ns: u64,
}

impl Computes {
    fn of(section: &Section, thread: &Thread) -> Option<Self> {
        let standing = standing(section, thread)?;
        let method = standing.computes_in.as_deref()?;
        let stack = stack::of_thread(thread);
        let shared = stack.iter().position(|line| line.site.name == method)?;
        Some(Self { site: stack::root(&stack[shared..])?, ns: standing.ns })
    }
}

fn standing<'d>(section: &'d Section, thread: &Thread) -> Option<&'d Standing> {
    section.standing.iter().find(|standing| Some(standing.tid) == thread.tid)
}

/// Whether a kernel function is where a frozen thread waits.
fn is_freezer(channel: &str) -> bool {
    channel.contains("freezer") || channel.contains("refrigerator")
}

/// The names of the threads of the first deadlock.
fn cycle_of(section: &Section) -> Vec<String> {
    let graph = LockGraph::from(section);
    let cycle = graph.deadlocks.iter().chain(&graph.possible_deadlocks).next();
    cycle.map(|cycle| names(section, cycle)).unwrap_or_default()
}

/// Names threads, of which there may be as many as the dump has.
fn names<'t>(section: &Section, tids: impl IntoIterator<Item = &'t u32>) -> Vec<String> {
    // Of two threads with one id the first counts, as in `Section::thread`.
    let threads: HashMap<u32, &Thread> =
        section.threads.iter().rev().filter_map(|thread| Some((thread.tid?, thread))).collect();
    tids.into_iter().map(|tid| name(threads.get(tid).copied(), *tid)).collect()
}

/// A thread's name, or its number if it has none.
fn name(thread: Option<&Thread>, tid: u32) -> String {
    thread.and_then(|thread| thread.name.clone()).unwrap_or_else(|| format!("tid {tid}"))
}

fn owner(thread: &Thread, lock: Option<String>) -> Owner {
    let stack = stack::of_thread(thread);
    let tid = thread.sys_tid.or(thread.tid).unwrap_or_default();
    let activity = super::thread_activity(thread).words().to_owned();
    Owner { thread: name(Some(thread), tid), tid, lock, root: stack::root(&stack), activity, stack }
}
