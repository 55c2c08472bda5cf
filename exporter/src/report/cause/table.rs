//! The table: what has to be known for which cause. The first row that holds is the cause; `docs/reports.md` prints it.

use trace_format::event::WaitKind;
use trace_format::verdict::Confidence::{self, High, Low, Medium};

use super::facts::{Evidence, Facts, is_half};
use super::kind::CauseKind;
use crate::report::place::{Doing, doing, parts};
use crate::report::waits::WaitSum;
use crate::report::words::seconds;

/// Messages in five seconds that make a storm, and the share of the time, in percent, that they must take.
const STORM: u64 = 100;
const STORM_BUSY: u128 = 80;
/// A message that is older than this is no part of a storm, ns.
const LONG_MESSAGE: u64 = 2_000_000_000;
/// So long neither run nor looked at, ns: frozen.
const STILL: u64 = 10_000_000_000;
/// Percent of the heap free, at which memory is short.
const HEAP_FULL: u64 = 5;

/// A row.
pub struct Rule {
    /// What it concludes.
    pub cause: CauseKind,
    /// How sure that is.
    pub confidence: Confidence,
    /// When, in words.
    pub when: &'static str,
    /// The evidence, if it holds.
    pub(super) holds: fn(&Facts) -> Option<Vec<Evidence>>,
}

const fn row(
    cause: CauseKind,
    confidence: Confidence,
    when: &'static str,
    holds: fn(&Facts) -> Option<Vec<Evidence>>,
) -> Rule {
    Rule { cause, confidence, when, holds }
}

/// All rows, in the order in which they are asked.
pub const RULES: &[Rule] = &[
    row(
        CauseKind::SomebodyElses,
        High,
        "the process said so of the signal, and there is no ANR of its own",
        somebody_elses,
    ),
    row(CauseKind::FrozenProcess, High, "the dump has main in the freezer", in_the_freezer),
    row(CauseKind::FrozenProcess, High, "the device slept for half of the hang", device_slept),
    row(
        CauseKind::FrozenProcess,
        Medium,
        "for 10 s and half of the hang main neither ran, waited nor slept",
        stood_still,
    ),
    row(CauseKind::LockWait, High, "the dump has a dead-lock that main is in or waits for", dead_lock),
    row(
        CauseKind::LockWait,
        High,
        "for half of the hang or more main waited for monitors, and the holder is known",
        lock_known,
    ),
    row(CauseKind::LockWait, Medium, "the same, and the holder is not known", lock_unknown),
    row(
        CauseKind::BinderWait,
        High,
        "for half of the hang or more main was in a recorded call to another process",
        binder_recorded,
    ),
    row(
        CauseKind::IoWait,
        High,
        "for half of the hang or more main was in a recorded blocking call",
        io_recorded,
    ),
    row(
        CauseKind::ThreadWait,
        High,
        "for half of the hang or more main was parked, joined, slept or waited",
        thread_recorded,
    ),
    row(CauseKind::LockWait, High, "the dump has main blocked at a lock", lock_dumped),
    row(
        CauseKind::GcOrMemory,
        High,
        "the dump has main waiting for the collector, and 5 % of the heap free or less",
        gc_full,
    ),
    row(CauseKind::GcOrMemory, Medium, "the dump has main waiting for the collector", gc),
    row(
        CauseKind::CpuStarvation,
        High,
        "main waited for a processor half of the time looked at, twice as long as it ran",
        starved,
    ),
    row(
        CauseKind::BinderWait,
        Medium,
        "half of the samples, or the dump, are in a call to another process",
        binder_seen,
    ),
    row(CauseKind::IoWait, Medium, "half of the samples, or the dump, are in reading or writing", io_seen),
    row(
        CauseKind::ThreadWait,
        Medium,
        "half of the samples, or the dump, are in a wait or a sleep",
        thread_seen,
    ),
    row(
        CauseKind::IoWait,
        Medium,
        "main was in uninterruptible sleep half of the time looked at",
        uninterruptible,
    ),
    row(
        CauseKind::MessageStorm,
        High,
        "100 messages or more in 5 s took 80 % of them or more, half of it one kind, and none was long",
        storm,
    ),
    row(
        CauseKind::NativeStretch,
        Medium,
        "half of the samples, or the dump, are in native code that is none of these",
        native_seen,
    ),
    row(
        CauseKind::BusyMethod,
        High,
        "main ran half of the time looked at, and a method or half of the samples say where",
        busy_ran,
    ),
    row(CauseKind::BusyMethod, Medium, "main ran half of the time looked at", ran),
    row(CauseKind::BusyMethod, Medium, "half of the samples are in one method of the app's", busy_sampled),
    row(
        CauseKind::BusyMethod,
        Medium,
        "in a recorded method, and main's events went on until the last fifth",
        busy_events,
    ),
    row(CauseKind::BusyMethod, Low, "the dump has main runnable in a Java method", busy_dumped),
];

fn all(evidence: impl IntoIterator<Item = Option<Evidence>>) -> Option<Vec<Evidence>> {
    Some(evidence.into_iter().flatten().collect())
}

fn one(at: u64, text: String) -> Option<Evidence> {
    Some(Evidence::new(at, text))
}

fn somebody_elses(f: &Facts) -> Option<Vec<Evidence>> {
    let (at, why) = f.others.as_ref().filter(|_| !f.anr)?;
    all([one(*at, why.clone())])
}

fn in_the_freezer(f: &Facts) -> Option<Vec<Evidence>> {
    let (at, _) = f.dump.as_ref().filter(|(_, dump)| dump.frozen)?;
    all([one(*at, "the dump has main in the kernel's freezer".to_owned()), f.used()])
}

fn device_slept(f: &Facts) -> Option<Vec<Evidence>> {
    let slept = (f.hung && f.slept > 0 && is_half(f.slept, f.duration())).then_some(f.slept)?;
    let text = format!("of the {} the device slept {}", seconds(f.duration()), seconds(slept));
    all([one(f.since, text)])
}

fn stood_still(f: &Facts) -> Option<Vec<Evidence>> {
    let (at, still) = f.looks.gap;
    let long = f.hung && still >= STILL && is_half(still, f.duration());
    let text =
        format!("for {} it was not asleep, and neither ran nor waited for a processor", seconds(still));
    long.then(|| all([one(at, text)]))?
}

fn dead_lock(f: &Facts) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref().filter(|(_, dump)| !dump.deadlock.is_empty())?;
    let names: Vec<String> = dump.deadlock.iter().map(|name| format!("\"{name}\"")).collect();
    all([one(*at, format!("a dead-lock of {}", names.join(", "))), f.was_in()])
}

fn waited(f: &Facts, sum: &WaitSum, verb: &str) -> Option<Vec<Evidence>> {
    let what = sum.what.as_deref().unwrap_or("an object of unknown class");
    let times = if sum.count > 1 { format!(" in {} waits", sum.count) } else { String::new() };
    let text = format!("of {} main {verb} {what} for {}{times}", seconds(f.duration()), seconds(sum.total));
    let holder = sum.holder.as_ref().and_then(|holder| one(0, format!("held by {holder}")));
    all([one(sum.since, text), holder, f.was_in()])
}

fn monitor(f: &Facts) -> Option<&WaitSum> {
    f.mostly_waited(|sum| sum.kind == WaitKind::Monitor)
}

fn lock_known(f: &Facts) -> Option<Vec<Evidence>> {
    waited(f, monitor(f).filter(|sum| sum.holder.is_some())?, "waited for the lock of")
}

fn lock_unknown(f: &Facts) -> Option<Vec<Evidence>> {
    waited(f, monitor(f)?, "waited for the lock of")
}

/// A recorded blocking call: to another process, or not.
fn blocking(f: &Facts, binder: bool) -> Option<&WaitSum> {
    f.mostly_waited(|sum| {
        let (class, method) = parts(sum.what.as_deref().unwrap_or_default());
        sum.kind == WaitKind::Blocking && (doing(class, method, false) == Doing::Binder) == binder
    })
}

fn binder_recorded(f: &Facts) -> Option<Vec<Evidence>> {
    waited(f, blocking(f, true)?, "was in")
}

fn io_recorded(f: &Facts) -> Option<Vec<Evidence>> {
    waited(f, blocking(f, false)?, "was in")
}

fn thread_recorded(f: &Facts) -> Option<Vec<Evidence>> {
    let other = |sum: &WaitSum| !matches!(sum.kind, WaitKind::Monitor | WaitKind::Blocking);
    let sum = f.mostly_waited(other)?;
    let verb = match sum.kind {
        WaitKind::Sleep => "slept in",
        WaitKind::Park => "was parked on",
        WaitKind::Join => "was in Thread.join on",
        WaitKind::Unknown(_) => "was in a wait of unknown kind on",
        _ => "was in Object.wait on",
    };
    waited(f, sum, verb)
}

fn lock_dumped(f: &Facts) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref()?;
    let (class, holder) = dump.lock.as_ref()?;
    let class = class.as_deref().unwrap_or("an object of unknown class");
    let holder = holder.as_ref().and_then(|holder| one(0, format!("held by {holder}")));
    all([one(*at, format!("the dump has main waiting for the lock of {class}")), holder, f.was_in()])
}

fn gc(f: &Facts) -> Option<Vec<Evidence>> {
    let (at, dump) = f.dump.as_ref().filter(|(_, dump)| dump.for_gc())?;
    let heap = dump.heap_free.and_then(|free| one(*at, format!("{free} % of the heap is free")));
    all([one(*at, format!("the dump has main {}", dump.state)), heap, f.was_in()])
}

fn gc_full(f: &Facts) -> Option<Vec<Evidence>> {
    let (_, dump) = f.dump.as_ref()?;
    gc(f).filter(|_| dump.heap_free.is_some_and(|free| free <= HEAP_FULL))
}

fn starved(f: &Facts) -> Option<Vec<Evidence>> {
    let looks = &f.looks;
    let starved =
        f.hung && looks.looked > 0 && is_half(looks.waited, looks.looked) && looks.ran <= looks.waited / 2;
    let group = f.cgroup.as_ref().and_then(|group| one(0, format!("the process is in the group {group}")));
    starved.then(|| all([f.used(), group, f.was_in()]))?
}

fn seen(f: &Facts, what: Doing) -> Option<Vec<Evidence>> {
    all([Some(f.seen_doing(what)?), f.was_in()])
}

fn binder_seen(f: &Facts) -> Option<Vec<Evidence>> {
    seen(f, Doing::Binder)
}

fn io_seen(f: &Facts) -> Option<Vec<Evidence>> {
    seen(f, Doing::Io)
}

fn thread_seen(f: &Facts) -> Option<Vec<Evidence>> {
    seen(f, Doing::Waits)
}

fn native_seen(f: &Facts) -> Option<Vec<Evidence>> {
    seen(f, Doing::Native)
}

fn uninterruptible(f: &Facts) -> Option<Vec<Evidence>> {
    let looks = &f.looks;
    let text = format!(
        "in {} of {} looked at main was in uninterruptible sleep",
        seconds(looks.uninterruptible),
        seconds(looks.looked)
    );
    (f.hung
        && looks.looked > 0
        && is_half(looks.uninterruptible, looks.looked)
        && !is_half(looks.ran, looks.looked))
    .then(|| all([one(0, text), f.was_in()]))?
}

fn storm(f: &Facts) -> Option<Vec<Evidence>> {
    let before = &f.before;
    let kind = before.kinds.first()?;
    let span = before.to.saturating_sub(before.from);
    let short = !f.hung || f.duration() < LONG_MESSAGE;
    let full = before.messages >= STORM && u128::from(before.busy) * 100 >= u128::from(span) * STORM_BUSY;
    let text = format!(
        "{} messages took {} of the last {}: {} of them were {}, {} together",
        before.messages,
        seconds(before.busy),
        seconds(span),
        kind.count,
        kind.name,
        seconds(kind.total)
    );
    (f.anr && short && full && is_half(kind.total, before.busy) && kind.longest < LONG_MESSAGE)
        .then(|| all([one(before.from, text)]))?
}

fn ran(f: &Facts) -> Option<Vec<Evidence>> {
    let looks = &f.looks;
    (f.hung && looks.looked > 0 && is_half(looks.ran, looks.looked)).then(|| all([f.used(), f.was_in()]))?
}

fn busy_ran(f: &Facts) -> Option<Vec<Evidence>> {
    let sampled = busy_sampled(f);
    let mut evidence = ran(f).filter(|_| f.method.is_some() || sampled.is_some())?;
    evidence.extend(sampled.into_iter().flatten());
    evidence.extend(f.short_calls());
    Some(evidence)
}

fn busy_sampled(f: &Facts) -> Option<Vec<Evidence>> {
    let (name, count) =
        f.sampled.own.as_ref().filter(|(_, count)| *count > 1 && is_half(*count, f.sampled.samples))?;
    let java = f.seen_doing(Doing::Java)?;
    let text = format!("{count} of {} samples of main's stack have {name}", f.sampled.samples);
    all([one(0, text), Some(java)])
}

fn busy_events(f: &Facts) -> Option<Vec<Evidence>> {
    let (events, mut last) = f.events;
    let short = f.short.as_ref();
    last = last.max(short.map_or(0, |short| short.last));
    let many = events.saturating_add(short.map_or(0, |short| short.calls)) >= 100;
    let late = f.asked.saturating_sub(last) <= f.duration() / 5;
    let text = format!("{events} events of main's until {} before", seconds(f.asked.saturating_sub(last)));
    (f.hung && f.duration() >= LONG_MESSAGE && f.method.is_some() && many && late)
        .then(|| all([f.was_in(), one(last, text), f.short_calls()]))?
}

fn busy_dumped(f: &Facts) -> Option<Vec<Evidence>> {
    let (_, dump) = f.dump.as_ref().filter(|(_, dump)| dump.runnable())?;
    let idle = dump.doing == Some(Doing::Idle) || dump.top.is_none();
    (!idle).then(|| seen(f, Doing::Java))?
}
