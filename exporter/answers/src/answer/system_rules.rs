//! The rules about the device and the process's other threads: was it main, another thread of the app, or the phone?

use trace_format::time::SECOND;

use super::cause::Evidence;
use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::{Observed, is_half};
use super::system_share::{SystemShare, ThreadShare};
use super::wait_cause::wait_cause;
use crate::words::{megabytes, percent, rounded, thousands, times};

/// Android's groups of processes that the user does not see: few CPUs, and a small share of them (AOSP,
/// `system/core/libprocessgroup/profiles/task_profiles.json`).
const BACKGROUND: [&str; 3] = ["background", "restricted", "system-background"];
/// `PowerManager.THERMAL_STATUS_SEVERE`: the user experience is largely impacted.
const SEVERE: i64 = 3;
/// The time in which all tasks waited for memory, in percent, from which memory counts as low, as in a dump's PSI.
const MEMORY_FULL: u128 = 10;
/// Page faults that needed a disk in a second of the hang from which memory counts as low, if tasks waited for memory
/// ([`MEMORY_SOME`]), pages were swapped in, or half as many were read again soon after they had been dropped.
const FAULTS: u64 = 100;
/// The time in which a task waited for memory, in percent.
const MEMORY_SOME: u128 = 25;
/// The part of the time that collections take, in percent, from which a page says so.
const COLLECTIONS: u128 = 10;
/// Others transferred this many times as much as the one that is compared.
const MUCH_MORE: u64 = 4;

fn is_percent(part: u64, whole: u64, percent: u128) -> bool {
    u128::from(part) * 100 >= u128::from(whole) * percent
}

fn found(text: String, f: &Observed) -> Option<Vec<Evidence>> {
    Some([Some(Evidence::new(0, text)), f.used(), f.was_in()].into_iter().flatten().collect())
}

/// Main was runnable for half of the time polled, and ran at most half as long.
pub(super) fn is_starved(f: &Observed) -> bool {
    let cpu = &f.cpu;
    f.hung && cpu.polled > 0 && is_half(cpu.runnable, cpu.polled) && cpu.ran <= cpu.runnable / 2
}

fn starved(f: &Observed) -> Option<&SystemShare> {
    f.share.as_ref().filter(|_| is_starved(f))
}

pub(super) fn debugger(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = f.share.as_ref().filter(|_| f.hung)?;
    let stopped = share.polls > 0 && is_half(share.main_stopped, share.polls);
    let pid = share.tracer.filter(|_| stopped || is_half(share.frozen, f.duration()))?;
    found(format!("a debugger (process {pid}) stopped main"), f)
}

pub(super) fn frozen(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = f.share.as_ref().filter(|share| f.hung && is_half(share.frozen, f.duration()))?;
    let (frozen, hang) = (rounded(share.frozen), rounded(f.duration()));
    found(format!("the process was frozen or stopped for {frozen} of the {hang}"), f)
}

pub(super) fn throttled(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = starved(f).filter(|share| is_half(share.throttled, share.polled))?;
    let (stopped, polled) = (rounded(share.throttled), rounded(share.polled));
    found(format!("the CPU limit of the process's control group stopped it for {stopped} of {polled}"), f)
}

pub(super) fn background(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = starved(f)?;
    let group = share.cpuset.as_deref()?;
    let last = group.rsplit('/').next().filter(|name| BACKGROUND.contains(name))?;
    let cpus = share.cpus.map_or_else(String::new, |cpus| format!(", with {}", times(cpus, "CPU")));
    found(format!("the process was in the group \"{last}\"{cpus}"), f)
}

pub(super) fn thermal(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = starved(f).filter(|share| share.thermal >= SEVERE)?;
    let word = share.thermal_status().unwrap_or("unknown");
    found(format!("the device was throttled by heat (thermal status: {word})"), f)
}

/// Whether the app's own other threads had the CPUs; `None` if that is not known.
fn own_threads_had_the_cpus(share: &SystemShare) -> Option<bool> {
    let own = share.others.ran;
    match (share.other_processes, share.capacity()) {
        (Some(others), _) => Some(own >= others),
        // Without the system's figures: half of the CPUs' time, or too little to be the reason.
        (None, Some(capacity)) if is_half(own, capacity) => Some(true),
        (None, Some(capacity)) if own <= capacity / 4 => Some(false),
        _ => None,
    }
}

fn named(shares: &[ThreadShare], of: impl Fn(&ThreadShare) -> String) -> String {
    let text = |share| format!("{} {}", ThreadShare::title(share), of(share));
    shares.iter().take(3).map(text).collect::<Vec<_>>().join(", ")
}

pub(super) fn own_threads(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = starved(f).filter(|share| own_threads_had_the_cpus(share) == Some(true))?;
    let names = named(&share.ran_most, |thread| rounded(thread.ran));
    let (ran, polled) = (rounded(share.others.ran), rounded(share.polled));
    found(format!("other threads of the app ran for {ran} in {polled}: {names}"), f)
}

pub(super) fn other_processes(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = starved(f).filter(|share| own_threads_had_the_cpus(share) == Some(false))?;
    let (own, polled) = (rounded(share.others.ran), rounded(share.polled));
    let text = match share.other_processes.map(rounded) {
        Some(others) => {
            format!("other processes had {others} of CPU time in {polled}; the app's other threads {own}")
        }
        None => {
            format!("the app's other threads ran for {own} of {polled}: too little to keep main from a CPU")
        }
    };
    found(text, f)
}

/// The time of which a collector's time is a part. A JVM's pauses are polled when they took long, and not when there are none.
fn collectable(f: &Observed, share: &SystemShare) -> u64 {
    if f.on_jvm { share.hang } else { share.polled_hang }
}

/// `214 garbage collections took 5.2 s of 6.1 s`.
fn collected(share: &SystemShare, took: u64, of: u64) -> String {
    let number =
        if share.gcs > 0 { times(share.gcs, "garbage collection") } else { "garbage collection".to_owned() };
    format!("{number} took {} of {}", rounded(took.min(of)), rounded(of))
}

pub(super) fn gc(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = f.share.as_ref().filter(|_| f.hung && !f.ran_half())?;
    let of = collectable(f, share);
    // Collections that main waits for stop when it goes on.
    let most = |took: u64| (took > 0 && is_half(took, of)).then_some(took);
    let took = most(share.blocking_gc_time).or_else(|| most(share.collector))?;
    let heap = share.heap.filter(|(_, max)| *max > 0).map_or_else(String::new, |(used, max)| {
        format!("; the Java heap has {} of {} in use", megabytes(used), megabytes(max))
    });
    found(collected(share, took, of) + &heap, f)
}

/// Evidence beside another cause: collections that took a part of the time worth a word, but not most of it.
pub(super) fn collections(f: &Observed, cause: CauseId) -> Option<Evidence> {
    let share = f.share.as_ref().filter(|_| f.hung && cause != CauseId::Gc)?;
    let (took, of) = (share.blocking_gc_time, collectable(f, share));
    (took > 0 && is_percent(took, of, COLLECTIONS)).then(|| Evidence::new(0, collected(share, took, of)))
}

pub(super) fn memory(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = f.share.as_ref().filter(|_| f.hung && !f.ran_half())?;
    if share.main_uninterruptible < share.polls.div_ceil(4) {
        return None;
    }
    let faults =
        share.major_faults >= (share.polled / SECOND).saturating_mul(FAULTS) && share.major_faults > 0;
    let full = is_percent(share.memory_full, share.polled, MEMORY_FULL);
    let low = full
        || faults
            && (is_percent(share.memory_some, share.polled, MEMORY_SOME)
                || share.swapped_in > 0
                || is_half(share.refaults, share.major_faults));
    let mut text = format!("{} pages had to be read from storage", thousands(share.major_faults));
    if share.memory_full > 0 {
        let percent = percent(share.memory_full, share.polled);
        text = format!("all tasks of the system waited for memory for {percent} % of the time, and {text}");
    }
    if share.refaults > 0 {
        text.push_str(&format!("; {} soon after the system had dropped them", thousands(share.refaults)));
    }
    if share.swapped_in > 0 {
        text.push_str(&format!("; {} were swapped in", megabytes(share.swapped_in)));
    }
    low.then(|| found(text, f))?
}

/// Polls in which main waited for storage, if it did so for half of the hang.
fn waited_for_storage(f: &Observed) -> Option<&SystemShare> {
    let share = f.share.as_ref().filter(|_| f.hung && !f.ran_half())?;
    let recorded = f.mostly_waited(|sum| wait_cause(f, sum).kind() == CauseKind::IoWait).is_some();
    let uninterruptible = is_half(share.main_uninterruptible, share.polls)
        || f.cpu.polled > 0 && is_half(f.cpu.uninterruptible, f.cpu.polled);
    let network = f.mostly_waited(|sum| wait_cause(f, sum) == CauseId::NetworkIo).is_some();
    ((recorded || uninterruptible) && !network).then_some(share)
}

fn is_much(share: &SystemShare, bytes: u64, than: u64) -> bool {
    bytes >= than.saturating_mul(MUCH_MORE)
        && u128::from(bytes) * u128::from(SECOND)
            >= u128::from(share.polled) * u128::from(SystemShare::MUCH_IO)
}

pub(super) fn own_io(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = waited_for_storage(f)?;
    let others = share.others.bytes;
    let outside = share.system_bytes.unwrap_or(0).saturating_sub(share.own_bytes.unwrap_or(0));
    let most = is_much(share, others, share.main.bytes) && others.saturating_mul(MUCH_MORE) >= outside;
    let names = named(&share.transferred_most, |thread| megabytes(thread.bytes));
    let (others, polled, main) = (megabytes(others), rounded(share.polled), megabytes(share.main.bytes));
    let text = format!("other threads of the app read and wrote {others} in {polled}: {names}; main {main}");
    most.then(|| found(text, f))?
}

pub(super) fn others_io(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = waited_for_storage(f)?;
    let own = share.own_bytes?;
    let outside = share.system_bytes?.saturating_sub(own);
    let pressed = share.io_some.is_none_or(|some| is_half(some, share.polled));
    let is_much = is_much(share, outside, own);
    let (outside, polled, own) = (megabytes(outside), rounded(share.polled), megabytes(own));
    let text = format!("other processes read and wrote {outside} in {polled}; this process {own}");
    (pressed && is_much).then(|| found(text, f))?
}

pub(super) fn clock(f: &Observed, _: CauseId) -> Option<Vec<Evidence>> {
    let share = f.share.as_ref().filter(|_| f.hung)?;
    // A wait until a time of the wall clock gets longer only if the clock is set back.
    let back = u64::try_from(share.clock_step.saturating_neg()).unwrap_or(0);
    let long = back >= SystemShare::CLOCK_STEP && is_half(back, f.duration());
    long.then(|| found(format!("the wall clock was set back by {}", rounded(back)), f))?
}
