//! What the process's other threads and the rest of the device did during a hang, from polls of the system's state.

use std::collections::BTreeMap;

use serde::Serialize;
use trace_format::sections::system_state::{Quantity as Q, SystemState, ThreadState};
use trace_format::time::SECOND;

/// A poll that comes this much after the end of a hang still counts: it is the one that noticed the end, ns.
const MAX_POLL_DELAY: u64 = 1_000_000_000;
/// Maximum number of threads that are kept by name.
const MAX_NAMED: usize = 5;

/// Threads of the app with one name.
// Also the report's JSON: the comments stand in docs/report-schema.json.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadsOfName"))]
pub struct ThreadShare {
    /// The name, without a number.
    // Empty if it is not known. The name of main is whole.
    pub name: String,
    /// The number of threads with this name.
    pub threads: u64,
    /// The CPU time of these threads.
    #[serde(rename = "ran_ns")]
    pub ran: u64,
    /// Bytes that they read from and wrote to storage.
    pub bytes: u64,
}

/// The sums over a hang. A value is `None` if it was not readable.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SystemShare {
    /// The time from the first poll to the last one, ns.
    pub polled: u64,
    /// The part of it that the hang lasted, ns.
    pub polled_hang: u64,
    /// The time of the hang, ns.
    pub hang: u64,
    /// The kernel's figures of main.
    pub main: ThreadShare,
    /// Number of polls.
    pub polls: u64,
    /// Number of polls in which main was stopped by a debugger or a signal.
    pub main_stopped: u64,
    /// Number of polls in which main waited uninterruptibly.
    pub main_uninterruptible: u64,
    /// The other threads of the app that ran longest; the recorder's and the collector's left out.
    pub ran_most: Vec<ThreadShare>,
    /// The other threads of the app with most I/O; the recorder's and the collector's left out.
    pub transferred_most: Vec<ThreadShare>,
    /// All other threads together, the collector's too.
    pub others: ThreadShare,
    /// Time for which the threads of the garbage collector ran: the longest of one thread, ns.
    pub collector: u64,
    /// Number of CPUs that the process may use.
    pub cpus: Option<u64>,
    /// CPU time of other processes, ns.
    pub other_processes: Option<u64>,
    /// Time for which the process was throttled, ns; at most the time polled.
    pub throttled: u64,
    /// Time for which all tasks of the system waited for memory, ns.
    pub memory_full: u64,
    /// Time for which some tasks of the system waited for memory, ns.
    pub memory_some: u64,
    /// Time for which some tasks of the system waited for I/O, ns.
    pub io_some: Option<u64>,
    /// Page faults of the process that needed a disk.
    pub major_faults: u64,
    /// Pages that the system had to read again soon after it had dropped them.
    pub refaults: u64,
    /// Bytes swapped in by the system.
    pub swapped_in: u64,
    /// Bytes that this process read and wrote.
    pub own_bytes: Option<u64>,
    /// Bytes that the whole system read and wrote.
    pub system_bytes: Option<u64>,
    /// Time for which the process was frozen or stopped, ns.
    pub frozen: u64,
    /// The step by which the wall clock was set, ns.
    pub clock_step: i64,
    /// The native debugger's process id.
    pub tracer: Option<i64>,
    /// Number of garbage collections.
    pub gcs: u64,
    /// Time of the garbage collections, ns; of a JVM's, which may go on beside the program, the part for which threads waited.
    pub gc_time: u64,
    /// Time for which threads waited for garbage collections, ns.
    pub blocking_gc_time: u64,
    /// The Java heap: bytes in use, and the maximum.
    pub heap: Option<(u64, u64)>,
    /// The highest thermal status.
    pub thermal: i64,
    /// The process's group of CPUs.
    pub cpuset: Option<String>,
}

/// Threads of the collectors of ART (`libcore/libart/src/main/java/java/lang/Daemons.java`) and HotSpot (`src/hotspot/share/gc`).
pub(super) fn collects(name: &str) -> bool {
    let of_art = ["HeapTaskDaemon"];
    let of_hotspot =
        ["GC Thread#", "G1 ", "ParGC Thread", "ZWorker", "ZDriver", "ZCollector", "Shenandoah", "VM Thread"];
    of_art.iter().chain(&of_hotspot).any(|prefix| name.starts_with(prefix))
}

/// A name without the number that tells the threads of a pool apart.
fn pool(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let head = digits.trim_end_matches(['-', '#', ' ', '_', ':']);
    if head.is_empty() || digits.len() == name.len() { name } else { head }
}

impl SystemShare {
    /// Bytes of storage traffic that matter: in the whole hang for a line on the page, in each second of it for a cause.
    pub const MUCH_IO: u64 = 1 << 20;
    /// A smaller step of the wall clock is neither shown nor a reason to wait, ns.
    pub const CLOCK_STEP: u64 = SECOND;

    /// The sums from `from` to `until`; `None` unless there are two polls. `main` is the kernel id of the main thread.
    pub fn of(polls: &[SystemState], main: u32, from: u64, until: u64) -> Option<Self> {
        // Polls after the first one that follows the end would only dilute the hang.
        let noticed = polls.iter().map(|poll| poll.at).find(|at| *at >= until);
        let end = noticed.filter(|at| at - until <= MAX_POLL_DELAY).unwrap_or(until);
        let within = || polls.iter().filter(|poll| (from..=end).contains(&poll.at));
        let (first, last) = (within().next()?, within().next_back()?);
        let mut found = Self {
            polled: last.at.saturating_sub(first.at),
            polled_hang: last.at.min(until).saturating_sub(first.at),
            hang: until.saturating_sub(from),
            ..Self::default()
        };
        let grown = |quantity: Q| {
            let mut known = within().filter_map(|poll| poll.get(quantity));
            let first = known.next()?;
            u64::try_from(known.next_back()?.saturating_sub(first)).ok()
        };
        let greatest = |quantity: Q| within().filter_map(|poll| poll.get(quantity)).max();
        let latest = |quantity: Q| within().filter_map(|poll| poll.get(quantity)).next_back();
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b.unwrap_or(0)));
        found.threads(within, main);
        found.cpus = latest(Q::Cpus).and_then(|cpus| u64::try_from(cpus).ok());
        found.other_processes =
            grown(Q::Busy).zip(grown(Q::Process)).map(|(busy, own)| busy.saturating_sub(own));
        found.throttled = grown(Q::Throttled).unwrap_or(0).min(found.polled);
        found.memory_full = grown(Q::MemoryPressureFull).unwrap_or(0);
        found.memory_some = grown(Q::MemoryPressure).unwrap_or(0);
        found.io_some = grown(Q::IoPressure);
        found.major_faults = grown(Q::MajorFaults).unwrap_or(0);
        found.refaults = grown(Q::Refaults).unwrap_or(0);
        found.swapped_in = grown(Q::SwappedIn).unwrap_or(0);
        found.own_bytes = sum(grown(Q::Read), grown(Q::Written));
        found.system_bytes = sum(grown(Q::SystemRead), grown(Q::SystemWritten));
        found.frozen = greatest(Q::Frozen).and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        found.tracer = greatest(Q::Tracer).filter(|pid| *pid > 0);
        found.gcs = grown(Q::Gcs).unwrap_or(0);
        found.blocking_gc_time = grown(Q::BlockingGcTime).unwrap_or(0);
        found.gc_time = grown(Q::GcTime).unwrap_or(found.blocking_gc_time);
        let bytes = |quantity| latest(quantity).and_then(|bytes| u64::try_from(bytes).ok());
        found.heap = bytes(Q::HeapUsed).zip(bytes(Q::HeapMax));
        found.thermal = greatest(Q::Thermal).unwrap_or(0);
        found.cpuset = within().filter_map(|poll| poll.cpuset.clone()).next_back();
        // The step may come before the first poll of the hang.
        let before =
            polls.iter().take_while(|poll| poll.at < from).filter_map(|poll| poll.get(Q::Realtime)).last();
        let ahead: Vec<i64> =
            before.into_iter().chain(within().filter_map(|poll| poll.get(Q::Realtime))).collect();
        let steps = ahead.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        found.clock_step = steps.max_by_key(|step| step.unsigned_abs()).unwrap_or(0);
        (found.polled > 0).then_some(found)
    }

    /// Sums what the threads did. One that appears later has started since, because the first poll has all.
    fn threads<'a, I: Iterator<Item = &'a SystemState>>(&mut self, within: impl Fn() -> I, main: u32) {
        let mut ends: BTreeMap<u32, (&ThreadState, &ThreadState, bool)> = BTreeMap::new();
        let mut have_all = false;
        for poll in within().filter(|poll| !poll.threads.is_empty()) {
            for thread in &poll.threads {
                let new = ends.entry(thread.tid).or_insert((thread, thread, have_all));
                new.1 = thread;
                if thread.tid == main {
                    self.polls += 1;
                    self.main_stopped += u64::from(matches!(thread.state, b't' | b'T'));
                    self.main_uninterruptible += u64::from(thread.state == b'D');
                }
            }
            have_all = true;
        }
        let mut by_name: BTreeMap<&str, ThreadShare> = BTreeMap::new();
        for (tid, (first, last, started)) in ends {
            let since =
                |of: fn(&ThreadState) -> u64| of(last).saturating_sub(if started { 0 } else { of(first) });
            let transferred =
                |thread: &ThreadState| thread.read.unwrap_or(0).saturating_add(thread.written.unwrap_or(0));
            let share = ThreadShare {
                name: last.name.clone(),
                threads: 1,
                ran: since(|thread| thread.ran),
                bytes: since(transferred),
            };
            if tid == main {
                self.main = share;
                continue;
            }
            self.others.add(&share);
            if collects(&last.name) {
                self.collector = self.collector.max(share.ran);
            } else if !last.name.starts_with("anrscope") {
                by_name.entry(pool(&last.name)).or_default().add(&share);
            }
        }
        let named = by_name.into_iter().map(|(name, share)| ThreadShare { name: name.to_owned(), ..share });
        let named: Vec<_> = named.collect();
        let most = |of: fn(&ThreadShare) -> u64| {
            let mut most: Vec<_> = named.iter().filter(|share| of(share) > 0).cloned().collect();
            most.sort_by_key(|share| std::cmp::Reverse(of(share)));
            most.truncate(MAX_NAMED);
            most
        };
        self.ran_most = most(|share| share.ran);
        self.transferred_most = most(|share| share.bytes);
    }

    /// The name of the highest thermal status in `PowerManager`; `None` if the device was cool.
    pub fn thermal_status(&self) -> Option<&'static str> {
        const NAMES: [&str; 6] = ["light", "moderate", "severe", "critical", "emergency", "shutdown"];
        NAMES.get(usize::try_from(self.thermal.checked_sub(1)?).ok()?).copied()
    }

    /// The time that all CPUs of the process have together, ns; `None` if their number is not known.
    pub(super) fn capacity(&self) -> Option<u64> {
        Some(self.polled.saturating_mul(self.cpus?))
    }
}

impl ThreadShare {
    fn add(&mut self, other: &Self) {
        self.threads = self.threads.saturating_add(other.threads);
        self.ran = self.ran.saturating_add(other.ran);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// `4 threads "encoder"` or `"sync"`.
    pub fn title(&self) -> String {
        match (self.threads, self.name.as_str()) {
            (1, "") => "a thread".to_owned(),
            (1, name) => format!("\"{name}\""),
            (n, "") => format!("{n} threads"),
            (n, name) => format!("{n} threads \"{name}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn poll(at: u64, threads: &[(u32, u64, &str)]) -> SystemState {
        let mut poll = SystemState::new(at);
        let thread = |(tid, ran, name): &(u32, u64, &str)| ThreadState {
            tid: *tid,
            state: b'R',
            ran: *ran,
            name: (*name).to_owned(),
            ..ThreadState::default()
        };
        poll.threads = threads.iter().map(thread).collect();
        poll
    }

    #[test]
    fn threads_of_a_pool_count_together_and_new_ones_from_zero() {
        let polls = [
            poll(10, &[(1, 5, "main"), (2, 100, "pool-1-thread-1"), (3, 7, "GC Thread#0")]),
            poll(
                20,
                &[
                    (1, 6, "main"),
                    (2, 104, "pool-1-thread-1"),
                    (3, 9, "GC Thread#0"),
                    (4, 3, "pool-1-thread-2"),
                ],
            ),
        ];
        let share = SystemShare::of(&polls, 1, 0, 30).unwrap();
        assert_eq!((share.polled, share.main.ran, share.others.ran, share.collector), (10, 1, 9, 2));
        let [pool] = &share.ran_most[..] else { panic!("{share:?}") };
        assert_eq!((pool.title().as_str(), pool.ran), ("2 threads \"pool-1-thread\"", 7));
        assert_eq!(SystemShare::of(&polls[..1], 1, 0, 30), None, "one poll has no difference");
    }

    #[test]
    fn only_the_first_poll_after_the_end_counts() {
        let polls: Vec<_> =
            (0..8).map(|n| poll(n * 10, &[(1, 0, "main"), (3, n.min(4) * 9, "GC Thread#0")])).collect();
        let share = SystemShare::of(&polls, 1, 5, 35).unwrap();
        assert_eq!((share.polled, share.polled_hang, share.collector), (30, 25, 27));
        let share = SystemShare::of(&polls[..3], 1, 5, 35).unwrap();
        assert_eq!((share.polled, share.polled_hang), (10, 10), "no poll after the end");
    }

    #[test]
    fn the_numbers_of_a_pools_threads_do_not_count() {
        let expected = [
            ("encoder-1", "encoder"),
            ("Thread-12", "Thread"),
            ("OkHttp", "OkHttp"),
            ("12", "12"),
            ("a1", "a"),
        ];
        expected.into_iter().for_each(|(name, pool_name)| assert_eq!(pool(name), pool_name));
    }

    proptest! {
        #[test]
        fn any_polls_have_sums(
            polls in prop::collection::vec((any::<u64>(), prop::collection::vec((0u32..4, any::<u64>()), 0..5), prop::collection::vec(prop::option::of(any::<u64>()), Q::ALL.len())), 0..6),
            from: u64,
            until: u64,
        ) {
            let mut polls: Vec<_> = polls.into_iter().map(|(at, threads, values)| {
                let threads: Vec<_> = threads.into_iter().map(|(tid, ran)| (tid, ran, "t")).collect();
                let mut poll = poll(at, &threads);
                Q::ALL.iter().copied().zip(values).for_each(|(quantity, value)| poll.set(quantity, value));
                poll
            }).collect();
            polls.sort_by_key(|poll| poll.at);
            if let Some(share) = SystemShare::of(&polls, 1, from, until) {
                prop_assert!(share.throttled <= share.polled);
            }
        }
    }
}
