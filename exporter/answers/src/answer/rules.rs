//! The table of rules: what must be known for which cause. The first rule that holds decides; `docs/causes.md`
//! prints the table.
//!
//! Thread state and CPU time come before samples: a main thread that was blocked, or slept through the hang,
//! was not busy, even if its samples show methods. No rule concludes from missing facts.

use trace_format::verdict::Confidence::{self, High, Low, Medium};

use super::activity::Activity;
use super::cause::Evidence;
use super::dump_summary::{CollectorTime, Computes};
use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::{LEAST_SAMPLES, Observed, is_half};
use super::recent_work::MessageKind;
use super::system_rules as system;
use super::wait_cause::wait_cause;
use crate::dump::StateKind;
use crate::waited::Waited;
use crate::words::{percent, rounded, seconds, times};
use CauseId as C;

/// Number of messages in five seconds that make a storm, and their minimum share of the time, in percent.
const STORM: u64 = 100;
const STORM_BUSY: u128 = 80;
/// A longer message is not part of a storm, ns.
const LONG_MESSAGE: u64 = 2_000_000_000;
/// Time without running or polling from which main counts as frozen, ns.
const FROZEN_TIME: u64 = 10_000_000_000;
/// Free heap, in percent, from which memory counts as low.
const HEAP_FULL: u64 = 5;
/// Time in which all threads waited for memory, in percent, from which memory counts as low (PSI `full avg10`).
const PRESSURE: f64 = 10.0;
/// A message of this length before the dump had kept main busy, ns.
const RECOVERED_FROM: u64 = 1_000_000_000;
/// The least CPU time of the collector's threads that says something, ns.
const MIN_COLLECTED: u64 = 1_000_000_000;

type Holds = fn(&Observed, CauseId) -> Option<Vec<Evidence>>;

/// A rule.
pub struct Rule {
    /// The causes that it may conclude, in order of evaluation.
    pub causes: &'static [CauseId],
    /// The confidence.
    pub confidence: Confidence,
    /// The condition in words.
    pub when: &'static str,
    /// Returns the evidence of a cause if the condition holds.
    pub(super) holds: Holds,
}

const fn row(causes: &'static [CauseId], confidence: Confidence, holds: Holds) -> Rule {
    Rule { causes, confidence, when: "", holds }
}

impl Rule {
    const fn when(self, when: &'static str) -> Self {
        Self { when, ..self }
    }
}

const RECORDED: &str = "recorded waits of this kind took half of the hang";
const SEEN: &str = "half of main's native stacks, of the samples of its stack, or the dump show it";
const STEPS: &str = "the recorded steps of concurrent work show why main's wait is not over";
const IN_TURN: &str =
    "the dump has main waiting for a result, and the threads that have to give it waiting for main";
const PROBABLY_IN_TURN: &str =
    "the dump has main waiting for a result, and most threads that may give it waiting for main";
const OF_A_DUMP: &str = "the dump shows it";

/// All rules, in order of evaluation.
pub const RULES: &[Rule] = &[
    row(&[C::OtherProcess], High, other_process)
        .when("the recorder judged the signal to be another process's, or the dump is about another one"),
    row(&[C::Debugger], High, system::debugger)
        .when("a native debugger stopped main, or all threads, for half of the hang"),
    row(&[C::Frozen], High, in_the_freezer).when("the dump has main in the freezer"),
    row(&[C::Frozen], High, device_slept).when("the device slept for half of the hang"),
    row(&[C::Frozen], High, system::frozen).when("the process was frozen or stopped for half of the hang"),
    row(&[C::Frozen], Medium, stood_still)
        .when("for 10 s and half of the hang main was neither running, runnable nor sleeping"),
    row(&[C::Deadlock], High, deadlock_dumped)
        .when("the dump has a cycle of owners that main is in or waits for"),
    row(&[C::Deadlock], High, deadlock_recorded)
        .when("recorded lock waits make a cycle that main is in or waits for"),
    row(&[C::Deadlock], High, deadlock_native)
        .when("native stacks have a cycle of owners of mutexes that the thread is in or waits for"),
    row(&[C::PoolDeadlock, C::SelfMadeDeadlock], High, |f, id| dumped(f, id, High)).when(IN_TURN),
    row(&[C::PoolExhausted, C::SelfMadeDeadlock, C::LatchNeverCountedDown], High, steps).when(STEPS),
    // A condition that the thread tests first may have been true at that time, and no longer.
    row(&[C::LostWakeUp], Medium, steps).when(STEPS),
    row(&[C::PoolDeadlock, C::SelfMadeDeadlock, C::ObjectWait, C::FutureWait], Medium, |f, id| dumped(f, id, Medium))
        .when(PROBABLY_IN_TURN),
    row(&[C::PoolExhausted], Medium, |f, id| dumped(f, id, Medium)).when(
        "the dump has main waiting for a result, and all threads of a pool waiting for tasks that no \
         thread runs",
    ),
    row(&[C::Recovered], High, came_back).when("main came back from the hang before the system asked"),
    row(&[C::ClockStep], Medium, system::clock)
        .when("the wall clock was set back by half of the hang or more"),
    row(&[C::MemoryPressure], High, system::memory).when(
        "main waited for storage in a quarter of the polls, and all tasks waited for memory 10 % of \
         the time, or 100 pages a second were swapped in or read again",
    ),
    row(&[C::IoOwnThreads], High, system::own_io).when(
        "main waited for storage, and other threads of the app transferred four times as much as \
         main, and a quarter of what other processes did",
    ),
    row(&[C::IoOtherProcesses], High, system::others_io)
        .when("main waited for storage, and other processes transferred four times as much as this one"),
    row(&[C::SharedPreferences, C::SqlitePool, C::Sqlite], High, recorded).when(RECORDED),
    row(&[C::RunBlocking], High, recorded_on_android)
        .when("recorded waits of this kind took half of the hang, on Android"),
    row(&[C::RunBlocking], Medium, recorded).when(RECORDED),
    row(&[C::LockWait], High, recorded).when("recorded lock waits took half of the hang"),
    row(&[C::BinderCall, C::Fsync, C::NetworkIo, C::DiskIo], High, recorded).when(RECORDED),
    row(&[C::ConsoleRead], Medium, recorded).when(RECORDED),
    row(&[C::ProcessWait, C::PermitWait, C::FutureWait, C::ThreadJoin], High, recorded).when(RECORDED),
    row(&[C::Sleep], High, recorded_on_android)
        .when("recorded sleeps took half of the hang, on Android"),
    row(&[C::Sleep], Medium, recorded).when(RECORDED),
    row(&[C::ObjectWait, C::Park], High, recorded).when(RECORDED),
    row(&[C::BlockingCall], Medium, recorded)
        .when("a recorded call took half of the hang, and no row says for what it waits"),
    row(&[C::LockWait], High, |f, id| if f.is_of_a_moment() { None } else { lock_dumped(f, id) })
        .when("the dump has main blocked at a lock, and is not a single one of a JVM"),
    row(&[C::LockWait], Medium, lock_dumped).when("the dump has main blocked at a lock"),
    row(&[C::LockWait], Medium, state_blocked).when("main's thread state was BLOCKED at the ANR"),
    row(&[C::NativeLock], High, native_mutex)
        .when("half of main's native stacks wait for a mutex, and its owner is known"),
    row(&[C::Gc], High, system::gc).when("main did not run, and garbage collections took half of the time"),
    row(&[C::MemoryPressure], High, heap_full)
        .when("main waits for the garbage collector, and 5 % of the heap or less is free"),
    row(&[C::Gc], Medium, seen).when("the dump has main waiting for the garbage collector"),
    row(&[C::MemoryPressure], High, seen).when("main reclaims memory in the kernel"),
    row(&[C::CpuLimit], High, system::throttled)
        .when("main was starved, and the process throttled for half of the time polled"),
    row(&[C::CpuBackground], High, system::background)
        .when("main was starved, in a group of background processes"),
    row(&[C::Thermal], High, system::thermal)
        .when("main was starved, and the thermal status was severe or worse"),
    row(&[C::CpuOwnThreads], High, system::own_threads).when(
        "main was starved, and the app's other threads had at least as much CPU time as other \
         processes, or half of all",
    ),
    row(&[C::CpuOtherProcesses], High, system::other_processes).when(
        "main was starved, and other processes had more CPU time than the app, or the app less than \
         a quarter of all",
    ),
    row(&[C::CpuStarvation], High, starved)
        .when("main was runnable without a CPU for half of the time polled, twice as long as it ran"),
    row(&[C::SharedPreferences, C::SqlitePool], High, seen).when(SEEN),
    row(&[C::Sqlite, C::WebView, C::RunBlocking, C::PermitWait, C::FutureWait], Medium, seen).when(SEEN),
    row(&[C::LockWait, C::ThreadJoin, C::Sleep, C::ObjectWait, C::Park], Medium, seen).when(SEEN),
    row(&[C::BinderCall, C::Fsync, C::NetworkIo, C::ConsoleRead, C::ProcessWait], Medium, seen).when(SEEN),
    row(&[C::DiskIo], Medium, seen).when(SEEN),
    row(&[C::MemoryPressure], Medium, uninterruptible_for_memory)
        .when("main is in uninterruptible sleep, and all threads waited for memory 10 % of the last 10 s"),
    row(&[C::UninterruptibleIo], Medium, uninterruptible).when("main was in uninterruptible sleep"),
    row(&[C::ClassLoading, C::YieldSpin, C::RenderThread, C::NativeEngine], Medium, seen).when(SEEN),
    row(&[C::NativeLock], Medium, seen).when(SEEN),
    row(&[C::MessageStorm], High, storm).when(
        "100 messages or more in 5 s took 80 % of them or more, half of it one kind, and none was long",
    ),
    row(&[C::ExceptionStorm], Medium, exception_storm)
        .when("main computed, and half of three samples or more make an exception in one method"),
    row(&[C::NativeCode], Medium, seen).when(SEEN),
    row(&[C::LockWait], Low, slept_in_java)
        .when("main slept through the hang, and its samples are in Java code that waits for nothing by name"),
    row(&[C::BusyMethod], Medium, busy_turn).when(
        "the dump has samples of 4 s that share a method, and since its last rest the thread has worked eight times as long as it \
         did in nine of ten turns before, of three or more",
    ),
    row(&[C::BusyMethod], High, busy_ran)
        .when("main ran half of the time polled, and a method or half of the samples say where"),
    row(&[C::BusyMethod], High, busy_in_samples).when(
        "the dump has samples of 4 s that share a method, and between them the thread ran for half \
         of the time",
    ),
    row(&[C::BusyMethod], Medium, ran).when("main ran half of the time polled"),
    row(&[C::BusyMethod], Medium, wanted_to_run).when("main ran or was runnable half of the time polled"),
    row(&[C::BusyMethod], Medium, busy_sampled).when("half of the samples are in one method of the app's"),
    row(&[C::BusyMethod], Medium, busy_events)
        .when("in a recorded method, and main's events went on until the last fifth"),
    row(&[C::Gc], Medium, collected_dumped).when(
        "the dump has main runnable in a Java method, and the collector's threads with four times its CPU time, a quarter of the \
         time and 1 s or more",
    ),
    row(&[C::BusyMethod], Low, busy_dumped).when("the dump has main runnable in a Java method"),
    row(&[C::DeadlockElsewhere], High, deadlock_elsewhere).when("a cycle of owners, and main is not in it"),
    row(&[C::Recovered], Medium, recovered).when("main was busy shortly before, and no longer"),
    row(&[C::MemoryPressure], Medium, pressure)
        .when("all threads waited for memory 10 % of the last 10 s, and main was not stuck"),
    row(&[C::Input, C::Vsync, C::StoppedByDump], Medium, between_work).when(OF_A_DUMP),
    row(&[C::Idle], Medium, idle).when("main had nothing to do when the system asked"),
];

fn all(evidence: impl IntoIterator<Item = Option<Evidence>>) -> Option<Vec<Evidence>> {
    Some(evidence.into_iter().flatten().collect())
}

fn one(at: u64, text: String) -> Option<Evidence> {
    Some(Evidence::new(at, text))
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

fn other_process(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, why) = f.others.as_ref().filter(|_| !f.anr)?;
    all([one(*at, why.clone())])
}

fn in_the_freezer(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, _) = f.dump.as_ref().filter(|(_, dump)| dump.frozen)?;
    all([one(*at, "the dump has main in the kernel's freezer".to_owned()), f.used()])
}

fn device_slept(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let slept = (f.hung && f.slept > 0 && is_half(f.slept, f.duration())).then_some(f.slept)?;
    let text = format!("the device slept for {} of the {}", seconds(slept), seconds(f.duration()));
    all([one(f.since, text)])
}

fn stood_still(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, still) = f.cpu.gap;
    let long = f.hung && still >= FROZEN_TIME && is_half(still, f.duration());
    let text = format!("main was neither running, runnable nor sleeping for {}", seconds(still));
    long.then(|| all([one(at, text)]))?
}

fn deadlock_dumped(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref().filter(|(_, dump)| !dump.cycle.is_empty())?;
    let inferred = if dump.cycle_inferred { ", as it seems from their \"locked\" lines" } else { "" };
    let text = format!("{} wait for each other's locks{inferred}", quoted(&dump.cycle));
    all([one(*at, text), f.was_in()])
}

fn deadlock_recorded(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    if f.cycle.is_empty() || !f.cycle_reached {
        return None;
    }
    all([one(0, format!("{} wait for each other's locks", quoted(&f.cycle))), f.was_in()])
}

fn deadlock_native(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let native = f.native.as_ref().filter(|native| !native.cycle.is_empty())?;
    let text = format!("{} wait for mutexes that they own in a cycle", quoted(&native.cycle));
    all([one(0, text), one(0, native.finding()), f.was_in()])
}

fn native_mutex(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let native = f.native.as_ref()?;
    let owner = native.owners.first()?;
    let (_, finding) = native.shows(|activity| activity == Activity::Of(cause))?;
    let place = owner.root.as_ref().map_or_else(String::new, |root| format!(" in {}", root.name));
    let (name, tid, does) = (&owner.thread, owner.tid, activity_words(&owner.activity));
    let text = format!("owned by \"{name}\" (tid {tid}), which is {does}{place}");
    all([Some(finding), one(0, text), f.missed(), f.was_in(), f.used()])
}

fn deadlock_elsewhere(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, names) = match &f.dump {
        Some((at, dump)) if !dump.other_cycle.is_empty() => (*at, &dump.other_cycle),
        _ if !f.cycle.is_empty() && !f.cycle_reached => (0, &f.cycle),
        _ => return None,
    };
    let text = format!("{} wait for each other's locks; main does not wait for them", quoted(names));
    all([one(at, text), f.used()])
}

fn dumped(f: &Observed, id: CauseId, confidence: Confidence) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref()?;
    let found = dump.why.as_ref()?.found.as_ref()?;
    if (found.cause, found.confidence) != (id, confidence) {
        return None;
    }
    all([one(*at, found.finding.clone()), one(0, found.because.clone()), f.was_in()])
}

fn steps(f: &Observed, id: CauseId) -> Option<Vec<Evidence>> {
    let (_, text) = f.chain.as_ref().filter(|(cause, _)| *cause == id)?;
    all([one(f.noticed, text.clone()), f.was_in()])
}

fn recorded(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let sum = f.mostly_waited(|sum| wait_cause(f, sum) == cause)?;
    let phrases = sum.kind.phrases();
    let object = Waited { kind: sum.kind, call: sum.call, class: sum.class.as_deref() }.object();
    let object = if phrases.has_object { format!(" {object}") } else { String::new() };
    let times = if sum.count > 1 { format!(" in {} waits", sum.count) } else { String::new() };
    let (took, percent) = (seconds(sum.total), percent(sum.total, f.duration()));
    let text = format!("main {}{object} for {took} ({percent} % of the hang){times}", phrases.did);
    let owner = sum.owner.as_ref().and_then(|owner| one(0, format!("owned by {owner}")));
    all([one(sum.since, text), owner, f.was_in()])
}

/// The same, where main must respond to a user: elsewhere such a wait may be by design.
fn recorded_on_android(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    if f.on_jvm { None } else { recorded(f, cause) }
}

fn lock_dumped(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref()?;
    let class = dump.lock.as_ref()?;
    let class = class.as_deref().unwrap_or("an object of unknown class");
    let owner = dump.owners.first().and_then(|owner| {
        let place =
            owner.root.as_ref().map(|root| &root.name).or(owner.stack.first().map(|line| &line.site.name));
        let place = place.map_or_else(String::new, |place| format!(" in {place}"));
        one(0, format!("owned by \"{}\", which is {}{place}", owner.thread, activity_words(&owner.activity)))
    });
    all([one(*at, format!("the dump has main waiting for the lock of {class}")), owner, f.was_in()])
}

/// What an owner does, as it follows "is".
fn activity_words(activity: &str) -> String {
    let is_verb = activity.ends_with("ing") || activity.starts_with("waiting");
    if is_verb { activity.to_owned() } else { format!("in a {activity}") }
}

fn state_blocked(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let state = f.state.as_ref().filter(|state| StateKind::from(state.as_str()) == StateKind::Blocked)?;
    let ran = f.ran_half();
    let (_, place) = f.shows_activity(|_| true).unzip();
    (!ran).then(|| {
        all([one(0, format!("main's thread state was {state} at the ANR")), place, f.used(), f.was_in()])
    })?
}

fn heap_full(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref()?;
    let free = dump.heap_free.filter(|free| *free <= HEAP_FULL)?;
    let gc = seen(f, CauseId::Gc)?;
    Some(gc.into_iter().chain(one(*at, format!("{free} % of the heap is free"))).collect())
}

fn starved(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let group = f.cgroup.as_ref().and_then(|group| one(0, format!("the process is in the group {group}")));
    system::is_starved(f).then(|| all([f.used(), group, f.was_in()]))?
}

/// The process's CPU time went to the collector, by the dump of a JVM.
fn collected_dumped(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref()?;
    let CollectorTime { collected, ran, lived } = dump.collector?;
    let is_most = collected >= MIN_COLLECTED && collected >= ran * 4 && collected >= lived / 4;
    let text = || {
        let (collected, lived, ran) = (seconds(collected), seconds(lived), seconds(ran));
        format!("the collector's threads ran for {collected} of {lived}, \"{}\" for {ran}", dump.name)
    };
    let computes = dump.activity == Some(Activity::Java);
    (is_most && computes).then(|| all([one(*at, text()), f.was_in()]))?
}

/// Whether main sleeps for the whole time with such a cause, of the rows with [`seen`].
fn sleeps(cause: CauseId) -> bool {
    cause == C::ProcessWait || matches!(cause.kind(), CauseKind::LockWait | CauseKind::ThreadWait)
}

fn seen(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let ran = f.ran_half();
    if ran && sleeps(cause) {
        return None;
    }
    let (_, place) = f.shows_activity(|activity| activity == Activity::Of(cause))?;
    let dump = f.dumped();
    let remote = f.sampled.remote.as_ref().or(dump.and_then(|dump| dump.remote.as_ref()));
    let remote = remote
        .filter(|_| cause == CauseId::BinderCall)
        .and_then(|call| one(0, format!("the call is {call}")));
    let engine = dump.and_then(|dump| dump.engine).filter(|_| cause == CauseId::NativeEngine);
    let engine = engine.and_then(|engine| one(0, format!("the engine is {engine}")));
    let stuck = dump.filter(|dump| dump.uninterruptible && f.sampled.samples == 0);
    let stuck = stuck.and_then(|_| one(0, "main is in uninterruptible sleep".to_owned()));
    all([Some(place), remote, engine, stuck, f.missed(), f.was_in(), f.used()])
}

/// Main was between two pieces of work at the time of the dump.
fn between_work(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref().filter(|(_, dump)| dump.activity == Some(Activity::Of(cause)))?;
    (f.open.is_none() && f.method.is_none()).then(|| {
        all([
            one(*at, format!("the dump shows main in {}: {}", dump.top().unwrap_or("?"), cause.name())),
            f.used(),
        ])
    })?
}

fn uninterruptible(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    if let Some((at, dump)) = f.dump.as_ref().filter(|(_, dump)| dump.uninterruptible) {
        let top = dump.channel.as_deref().or(dump.top()).unwrap_or("?");
        return all([one(*at, format!("the dump has main in uninterruptible sleep, in {top}")), f.was_in()]);
    }
    let cpu = &f.cpu;
    let (slept, polled) = (seconds(cpu.uninterruptible), seconds(cpu.polled));
    let text = format!("main was in uninterruptible sleep for {slept} of {polled}");
    (f.hung && cpu.polled > 0 && is_half(cpu.uninterruptible, cpu.polled) && !f.ran_half())
        .then(|| all([one(0, text), f.was_in()]))?
}

fn short_of_memory(f: &Observed) -> Option<Evidence> {
    let (at, dump) = f.dump.as_ref()?;
    let percent = dump.memory_pressure.filter(|percent| *percent >= PRESSURE)?;
    Some(Evidence::new(*at, format!("all threads waited for memory {percent} % of the last 10 s (PSI)")))
}

fn uninterruptible_for_memory(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let pressure = short_of_memory(f)?;
    Some(std::iter::once(pressure).chain(uninterruptible(f, cause)?).collect())
}

fn pressure(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    all([Some(short_of_memory(f)?)])
}

fn storm(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let before = &f.before;
    let kind = before.kinds.first()?;
    let span = before.to.saturating_sub(before.from);
    let short = !f.hung || f.duration() < LONG_MESSAGE;
    let full = before.messages >= STORM && u128::from(before.busy) * 100 >= u128::from(span) * STORM_BUSY;
    let [busy, span, total] = [before.busy, span, kind.total].map(seconds);
    let MessageKind { name, count, .. } = kind;
    let messages = before.messages;
    let text = format!(
        "{messages} messages took {busy} of the last {span}: {count} of them were {name}, {total} together"
    );
    (f.anr && short && full && is_half(kind.total, before.busy) && kind.longest < LONG_MESSAGE)
        .then(|| all([one(before.from, text)]))?
}

fn ran(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    (f.hung && f.ran_half()).then(|| all([f.used(), f.was_in()]))?
}

/// Main was not starved, which an earlier rule concludes, and shared the CPUs.
fn wanted_to_run(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let cpu = &f.cpu;
    let wanted = cpu.ran.saturating_add(cpu.runnable);
    (f.hung && cpu.polled > 0 && is_half(wanted, cpu.polled)).then(|| all([f.used(), f.was_in()]))?
}

fn busy_ran(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let sampled = busy_sampled(f, cause);
    let mut evidence = ran(f, cause).filter(|_| f.method.is_some() || sampled.is_some())?;
    evidence.extend(sampled.into_iter().flatten());
    evidence.extend(f.short_calls());
    Some(evidence)
}

fn busy_turn(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let turns = f.turns?;
    let mut evidence = busy_in_samples(f, cause)?;
    let (number, usual) = (times(turns.number as u64, "turn"), rounded(turns.usual));
    let text = format!("its {number} before, each from one rest to the next, took {usual} as a rule");
    evidence.insert(1, Evidence::new(0, text));
    Some(evidence)
}

fn busy_in_samples(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref().filter(|_| f.hung)?;
    let Computes { site, ns } = dump.computes.as_ref()?;
    let text =
        format!("samples of {} share {}, and it ran for half of that time or more", seconds(*ns), site.name);
    all([one(*at, text), f.was_in()])
}

fn exceptions_made(name: &str, count: u64, all: u64) -> Evidence {
    Evidence::new(0, format!("{count} of {all} stacks make an exception in {name}"))
}

fn exception_storm(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (name, count, stacks) = f.exceptions()?;
    // The agent takes samples of threads that compute.
    let computed = f.ran_half() || f.dumped().is_some_and(|dumped| !dumped.samples.is_empty());
    let is_storm = f.hung && computed && stacks >= LEAST_SAMPLES && is_half(count, stacks);
    if !is_storm || f.slept_through() {
        return None;
    }
    all([Some(exceptions_made(&name, count, stacks)), f.used(), f.was_in()])
}

/// Evidence beside another answer of a busy thread: too few stacks make an exception, or too few are known.
pub(super) fn exceptions_beside(f: &Observed, cause: CauseId) -> Option<Evidence> {
    let (name, count, all) =
        f.exceptions().filter(|_| cause.kind() == CauseKind::BusyMethod && cause != C::ExceptionStorm)?;
    let mut evidence = exceptions_made(&name, count, all);
    if all < LEAST_SAMPLES {
        evidence.text += ": too few to say whether exceptions take the time";
    }
    Some(evidence)
}

fn busy_sampled(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (name, count) =
        f.sampled.own.as_ref().filter(|(_, count)| *count > 1 && is_half(*count, f.sampled.samples))?;
    let (_, java) = f.shows_activity(|activity| activity == Activity::Java)?;
    let text = format!("{count} of {} samples of main's stack have {name}", f.sampled.samples);
    (!f.slept_through()).then(|| all([one(0, text), Some(java)]))?
}

fn slept_in_java(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (_, java) =
        f.shows_activity(|activity| activity == Activity::Java).filter(|_| f.sampled.samples > 0)?;
    (f.hung && f.slept_through()).then(|| all([f.used(), Some(java), f.was_in()]))?
}

fn busy_events(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (events, mut last) = f.events;
    let short = f.short.as_ref();
    last = last.max(short.map_or(0, |short| short.last));
    let many = events.saturating_add(short.map_or(0, |short| short.calls)) >= 100;
    let late = f.noticed.saturating_sub(last) <= f.duration() / 5;
    let text =
        format!("main's {events} events went on until {} before", seconds(f.noticed.saturating_sub(last)));
    (f.hung && f.duration() >= LONG_MESSAGE && f.method.is_some() && many && late && !f.slept_through())
        .then(|| all([f.was_in(), one(last, text), f.short_calls()]))?
}

fn busy_dumped(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let dump = f.dumped().filter(|dump| dump.activity == Some(Activity::Java) && !dump.stack.is_empty())?;
    let kind = StateKind::from(dump.state.as_str());
    let runs = dump.state.is_empty()
        || matches!(kind, StateKind::Running | StateKind::Suspended | StateKind::Native);
    let (_, place) = f.shows_activity(|activity| activity == Activity::Java)?;
    runs.then(|| all([Some(place), f.was_in()]))?
}

/// Whether main was in nothing when the system requested the dump.
fn had_recovered(f: &Observed) -> bool {
    let between_work = |activity| matches!(activity, Activity::Of(cause) if cause.is_main_responsive());
    f.open.is_none() && f.dumped().is_none_or(|dump| dump.activity.is_none_or(between_work))
}

fn came_back(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let (ended, request) = f.came_back.filter(|_| f.anr && had_recovered(f))?;
    let what = f.message.as_deref().unwrap_or("a call");
    let took = seconds(ended.saturating_sub(f.since));
    let text =
        format!("main had recovered {} before: {took} were {what}", seconds(request.saturating_sub(ended)));
    all([one(ended, text), f.was_in()])
}

fn recovered(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let before = &f.before;
    let kind = before.kinds.first()?;
    let span = before.to.saturating_sub(before.from);
    let long = kind.longest >= RECOVERED_FROM || is_half(before.busy, span);
    let (span, total, name) = (seconds(span), seconds(kind.total), &kind.name);
    let text = format!("main had recovered: of the {span} before, {total} were {name}");
    (f.anr && long && before.busy > 0 && had_recovered(f)).then(|| all([one(before.to, text), f.used()]))?
}

fn idle(f: &Observed, cause: CauseId) -> Option<Vec<Evidence>> {
    let text = "main had nothing to do when the system asked: it had gone on, or the system waited for something else";
    f.main_was_idle().then(|| {
        let dumped = between_work(f, cause).unwrap_or_default();
        Some(dumped.into_iter().chain(one(0, text.to_owned())).chain(f.used()).collect())
    })?
}
