//! What the process and the system did at one moment of a stall, or now and then without one: `key=value` lines of
//! [`SectionKind::SystemState`]. Two of them tell whether main itself, another thread of the app, or the device was
//! the reason for a stall.
//!
//! ```text
//! at=NS                    CLOCK_BOOTTIME; required
//! cpuset=PATH              the process's control group for CPUs, such as /background
//! KEY=NUMBER               one line for each quantity that could be read: Quantity
//! thread=TID STATE RAN WAITED READ WRITTEN CHANNEL NAME
//! ```
//! A thread's line has its state letter (man 5 proc_pid_stat), the ns that it ran and was runnable (/proc/PID/schedstat),
//! the bytes that it read from and wrote to storage, and the kernel function that it waits in; `-` is an unknown value.
//! The name comes last, since it may have blanks. A poll may leave out threads that did not run since the one before.
//!
//! [`SectionKind::SystemState`]: crate::section::SectionKind::SystemState

use super::lines::{Keys, Lines};
use super::{MAX_TIME, max_len, text_of};
use crate::section::{SectionKind, key_values};

/// Maximum number of threads of one poll; a reader ignores the others.
pub const MAX_THREADS: usize = 4096;
/// Maximum size of a payload, in bytes.
pub const MAX_LEN: usize = max_len(SectionKind::SystemState) as usize;

words! {
    /// A number that a poll may have; its word is the key in a section.
    Quantity {
        /// CPU time that the poll before took, ns: the recorder's own cost.
        Cost = "cost",
        /// How long the process was frozen, stopped or suspended with the device in this message so far, ns.
        Frozen = "frozen",
        /// CLOCK_REALTIME − CLOCK_BOOTTIME, ns: it changes if the clock is set.
        Realtime = "realtime",
        /// Number of CPUs that main may run on: `Cpus_allowed` (man 5 proc_pid_status).
        Cpus = "cpus",
        /// Time that all CPUs of the system were busy, ns since boot (man 5 proc_stat); not readable by Android's apps.
        Busy = "busy",
        /// CPU time of this process, ns.
        Process = "process",
        /// Time in which some task of the system waited for a CPU, ns since boot (Documentation/accounting/psi.rst).
        CpuPressure = "cpu_pressure",
        /// Time in which some task of the system waited for memory, ns since boot.
        MemoryPressure = "memory_pressure",
        /// Time in which all tasks of the system waited for memory, ns since boot.
        MemoryPressureFull = "memory_pressure_full",
        /// Time in which some task of the system waited for I/O, ns since boot.
        IoPressure = "io_pressure",
        /// Page faults of this process that needed a disk (man 5 proc_pid_stat).
        MajorFaults = "major_faults",
        /// Bytes that this process read from storage (man 5 proc_pid_io).
        Read = "read",
        /// Bytes that this process caused to be written to storage.
        Written = "written",
        /// Bytes that the whole system read from storage: `pgpgin` of /proc/vmstat.
        SystemRead = "system_read",
        /// Bytes that the whole system wrote to storage: `pgpgout` of /proc/vmstat.
        SystemWritten = "system_written",
        /// Bytes swapped in by the whole system.
        SwappedIn = "swapped_in",
        /// Bytes swapped out by the whole system.
        SwappedOut = "swapped_out",
        /// Pages that the whole system had to read again soon after it had dropped them: `workingset_refault` of /proc/vmstat.
        Refaults = "refaults",
        /// Memory available without swapping, bytes: `MemAvailable` of /proc/meminfo.
        Available = "available",
        /// Unused swap space, bytes.
        SwapFree = "swap_free",
        /// Time for which the control group was throttled by its CPU limit, ns; each CPU counts.
        Throttled = "throttled",
        /// Process id of the native debugger that traces main; 0 without one (man 5 proc_pid_status).
        Tracer = "tracer",
        /// Time of all garbage collections of this process, ns: `art.gc.gc-time` of Android's `Debug.getRuntimeStat`.
        GcTime = "gc_time",
        /// Number of garbage collections; on a JVM of pauses for them.
        Gcs = "gcs",
        /// Time for which threads waited for a collection, ns: `art.gc.blocking-gc-time`; on a JVM the pauses, in which all wait.
        BlockingGcTime = "blocking_gc_time",
        /// Bytes of the Java heap in use.
        HeapUsed = "heap_used",
        /// Maximum size of the Java heap, bytes.
        HeapMax = "heap_max",
        /// `PowerManager.getCurrentThermalStatus` (API 29): 0 none, 1 light, 2 moderate, 3 severe, 4 critical, 5 emergency, 6 shutdown.
        Thermal = "thermal",
        /// Whether battery saver is on (`PowerManager.isPowerSaveMode`, API 21).
        PowerSave = "power_save",
    }
}

/// A thread at that moment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ThreadState {
    /// Its kernel id.
    pub tid: u32,
    /// Its state letter; `?` if it is unknown.
    pub state: u8,
    /// How long it ran, ns.
    pub ran: u64,
    /// How long it was runnable without running, ns.
    pub waited: u64,
    /// Bytes that it read from storage.
    pub read: Option<u64>,
    /// Bytes that it caused to be written to storage.
    pub written: Option<u64>,
    /// The kernel function that it waits in.
    pub channel: Option<String>,
    /// Its name, at most the kernel's 15 bytes; empty if it is not recorded.
    pub name: String,
}

impl ThreadState {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(8, ' ');
        let tid = words.next()?.parse().ok()?;
        let state = *words.next()?.as_bytes().first()?;
        let mut number = || words.next();
        let (ran, waited) = (number()?.parse().ok()?, number()?.parse().ok()?);
        let (read, written) = (number()?.parse().ok(), number()?.parse().ok());
        let channel = words.next().filter(|word| !matches!(*word, "" | "-" | "0")).map(str::to_owned);
        let name = words.next().unwrap_or_default().to_owned();
        Some(Self { tid, state, ran, waited, read, written, channel, name })
    }

    fn line(&self) -> String {
        let known = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        // A blank or a control character would move the words behind it.
        let state = if self.state.is_ascii_graphic() { char::from(self.state) } else { '?' };
        [
            self.tid.to_string().as_str(),
            state.encode_utf8(&mut [0; 4]),
            &self.ran.to_string(),
            &self.waited.to_string(),
            &known(self.read),
            &known(self.written),
            &self.channel.as_deref().unwrap_or("-").replace(' ', "_"),
            self.name.trim(),
        ]
        .join(" ")
    }
}

/// One poll.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SystemState {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// The process's control group for CPUs.
    pub cpuset: Option<String>,
    /// Values in the order of [`Quantity::ALL`].
    values: [Option<i64>; Quantity::ALL.len()],
    /// Threads.
    pub threads: Vec<ThreadState>,
}

impl SystemState {
    /// A poll without values.
    #[must_use]
    pub fn new(at: u64) -> Self {
        Self { at, ..Self::default() }
    }

    /// Sets a value, if it could be read. Values beyond `i64::MAX` are not kept.
    pub fn set(&mut self, quantity: Quantity, value: Option<u64>) {
        self.values[quantity as usize] = value.and_then(|value| i64::try_from(value).ok());
    }

    /// Sets CLOCK_REALTIME − CLOCK_BOOTTIME, which may be negative.
    pub fn set_realtime(&mut self, ahead_ns: i64) {
        self.values[Quantity::Realtime as usize] = Some(ahead_ns);
    }

    /// A value, if it could be read.
    #[must_use]
    pub fn get(&self, quantity: Quantity) -> Option<i64> {
        self.values[quantity as usize]
    }

    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        lines.number("at", self.at);
        lines.texts("cpuset", self.cpuset.as_deref());
        for quantity in Quantity::ALL.iter().copied() {
            lines.numbers(quantity.word(), self.get(quantity));
        }
        for thread in self.threads.iter().take(MAX_THREADS) {
            lines.text("thread", &thread.line());
        }
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it is too long or has no valid time.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::SystemState, payload)?;
        let keys = Keys::new(&text);
        let mut found = Self::new(keys.time("at")?);
        found.cpuset = keys.owned("cpuset");
        // One pass: a lookup by key reads the text from its start.
        for (key, value) in key_values(&text) {
            if key == "thread" {
                let thread = ThreadState::parse(value).filter(|_| found.threads.len() < MAX_THREADS);
                found.threads.extend(thread);
            } else if let Ok(quantity) = key.parse::<Quantity>() {
                let number = value.trim().parse().ok();
                let number = number.filter(|number: &i64| number.unsigned_abs() < MAX_TIME);
                let value = &mut found.values[quantity as usize];
                *value = value.or(number);
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn polls_round_trip(
            at in 1..MAX_TIME,
            cpuset in prop::option::of("/[a-z_/-]{0,20}"),
            values in prop::collection::vec(prop::option::of(0..MAX_TIME), Quantity::ALL.len()),
            ahead in -1_000_000_000_000i64..1_000_000_000_000,
            threads in prop::collection::vec(
                (any::<u32>(), "[RSDTtZIX]", any::<u64>(), any::<u64>(), any::<Option<u64>>(),
                 prop::option::of("[a-z_.]{1,9}"), "[!-~]([ -~]{0,13}[!-~])?"),
                0..5,
            ),
        ) {
            let mut poll = SystemState::new(at);
            poll.cpuset = cpuset;
            Quantity::ALL.iter().copied().zip(values).for_each(|(quantity, value)| poll.set(quantity, value));
            poll.set_realtime(ahead);
            poll.threads = threads.into_iter().map(|(tid, state, ran, waited, bytes, channel, name)| ThreadState {
                tid,
                state: state.as_bytes()[0],
                ran,
                waited,
                read: bytes,
                written: bytes.map(|bytes| bytes / 2),
                channel: channel.filter(|channel| channel != "-"),
                name,
            }).collect();
            prop_assert_eq!(SystemState::parse(&poll.encode()), Some(poll));
        }

        #[test]
        fn any_lines_give_bounded_values(text in "(at|cost|cpus|thread|realtime)=[0-9 RSx-]{0,40}\n(thread=[0-9]{0,12}( [0-9A-Z-]{0,21}){0,9}\n){0,9}") {
            if let Some(poll) = SystemState::parse(text.as_bytes()) {
                let known = Quantity::ALL.iter().copied().filter_map(|quantity| poll.get(quantity));
                prop_assert!(poll.at < MAX_TIME && known.into_iter().all(|value| value.unsigned_abs() < MAX_TIME));
            }
        }
    }

    #[test]
    fn each_quantity_has_its_place_and_key() {
        for (at, quantity) in Quantity::ALL.iter().copied().enumerate() {
            assert_eq!(quantity as usize, at);
            assert_eq!(Quantity::ALL.iter().filter(|other| other.word() == quantity.word()).count(), 1);
        }
    }

    #[test]
    fn a_cut_line_of_a_thread_is_left_out() {
        let text = "at=5\nbusy=7\nbusy=8\nthread=3 R 1 2 - - - a name\nthread=4 S 1";
        let poll = SystemState::parse(text.as_bytes()).unwrap();
        assert_eq!((poll.get(Quantity::Busy), poll.get(Quantity::Cpus)), (Some(7), None));
        assert_eq!(poll.threads.len(), 1);
        assert_eq!((poll.threads[0].name.as_str(), poll.threads[0].channel.as_deref()), ("a name", None));
    }
}
