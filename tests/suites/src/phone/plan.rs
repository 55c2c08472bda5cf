//! What each case does and which cause is right, decided before anything runs.

use test_support::random::Random;

/// The reason that a case makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// None: main is busy itself, on a machine that is not idle either.
    Busy,
    OwnThreads,
    OtherProcesses,
    CpuLimit,
    Background,
    OwnStorage,
    OthersStorage,
    Memory,
    Collector,
    Freezer,
    StopSignal,
    Debugger,
    Clock,
}

impl Reason {
    /// The reasons that are not main.
    pub(crate) const NOT_MAIN: [Self; 12] = [
        Self::OwnThreads,
        Self::OtherProcesses,
        Self::CpuLimit,
        Self::Background,
        Self::OwnStorage,
        Self::OthersStorage,
        Self::Memory,
        Self::Collector,
        Self::Freezer,
        Self::StopSignal,
        Self::Debugger,
        Self::Clock,
    ];

    /// Its name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::OwnThreads => "own-threads",
            Self::OtherProcesses => "other-processes",
            Self::CpuLimit => "cpu-limit",
            Self::Background => "background",
            Self::OwnStorage => "own-storage",
            Self::OthersStorage => "others-storage",
            Self::Memory => "memory",
            Self::Collector => "collector",
            Self::Freezer => "freezer",
            Self::StopSignal => "stop-signal",
            Self::Debugger => "debugger",
            Self::Clock => "clock",
        }
    }

    /// The cause that the report must name.
    pub(crate) fn cause(self) -> &'static str {
        match self {
            Self::Busy => "busy-method",
            Self::OwnThreads => "cpu-own-threads",
            Self::OtherProcesses => "cpu-other-processes",
            Self::CpuLimit => "cpu-limit",
            Self::Background => "cpu-background",
            Self::OwnStorage => "io-own-threads",
            Self::OthersStorage => "io-other-processes",
            Self::Memory => "memory-pressure",
            Self::Collector => "gc",
            Self::Freezer | Self::StopSignal => "frozen",
            Self::Debugger => "debugger",
            Self::Clock => "clock-step",
        }
    }
}

/// A case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) reason: Reason,
    pub(crate) seed: u64,
    /// What main does: a word of `PhoneLife`.
    pub(crate) task: &'static str,
    /// CPU time that main's work needs, ms.
    pub(crate) cpu_ms: u64,
    /// How long the hang is, or when the system asks, ms.
    pub(crate) ms: u64,
    /// Threads of the app that compute, and that write.
    pub(crate) encoders: usize,
    pub(crate) writers: usize,
    /// Processes beside the app that compute.
    pub(crate) hogs: usize,
    /// Whether the system sends SIGQUIT; else the timer finds the hang.
    pub(crate) signal: bool,
    /// How long the process is stopped, or the clock set back, ms.
    pub(crate) stopped_ms: u64,
    /// Options of the JVM.
    pub(crate) jvm: Vec<&'static str>,
    /// Whether main's stack is sampled.
    pub(crate) stacks: bool,
}

impl Case {
    /// The case of a seed, on a machine with so many CPUs.
    pub(crate) fn new(reason: Reason, seed: u64, cpus: usize) -> Self {
        let mut random = Random::new(seed << 8 | reason as u64);
        let mut between = |from: u64, to: u64| from + random.below((to - from + 1) as usize) as u64;
        let ms = between(3_000, 4_500);
        let mut case = Self {
            reason,
            seed,
            task: "compute",
            // Alone it would take this long, which is no hang.
            cpu_ms: between(500, 900),
            ms,
            encoders: 0,
            writers: 0,
            hogs: 0,
            signal: false,
            stopped_ms: between(3_000, 5_000),
            jvm: vec!["-XX:+UseSerialGC"],
            stacks: between(0, 3) > 0,
        };
        let cpus = cpus as u64;
        let many = between(5 * cpus, 8 * cpus) as usize;
        match reason {
            Reason::Busy => {
                // Enough for a hang; there are many of these cases.
                case.ms = between(2_400, 3_300);
                (case.cpu_ms, case.task) = (case.ms, "compute");
                // A machine that is busy, but not so busy that main does not run.
                case.encoders = between(0, cpus.div_ceil(2)) as usize;
                case.hogs = if case.encoders == 0 { between(0, cpus.div_ceil(2)) as usize } else { 0 };
            }
            Reason::OwnThreads => case.encoders = many,
            Reason::OtherProcesses => (case.hogs, case.encoders) = (many, between(0, 1) as usize),
            Reason::CpuLimit => case.encoders = between(0, 2) as usize,
            Reason::Background => case.hogs = between(5, 9) as usize,
            Reason::OwnStorage => (case.task, case.writers) = ("store", between(1, 3) as usize),
            Reason::OthersStorage => case.task = "store",
            Reason::Memory => case.task = "look",
            Reason::Collector => {
                case.task = "allocate";
                case.jvm = match between(0, 2) {
                    0 => vec!["-XX:+UseSerialGC", "-Xmx64m"],
                    1 => vec!["-XX:+UseParallelGC", "-Xmx64m"],
                    _ => vec!["-XX:+UseG1GC", "-Xmx64m"],
                };
            }
            Reason::Freezer | Reason::StopSignal => {
                (case.cpu_ms, case.ms, case.signal) = (1_200, 2_000, true);
            }
            Reason::Debugger => (case.cpu_ms, case.ms, case.signal) = (1_200, 2_000, true),
            Reason::Clock => {
                case.task = "clock";
                case.cpu_ms = between(0, 1);
                case.ms = 12_000;
            }
        }
        case
    }

    /// Whether main neither computes nor uses the storage for most of the hang, so that other cases may run beside it.
    pub(crate) fn leaves_the_machine_idle(&self) -> bool {
        match self.reason {
            Reason::Freezer | Reason::StopSignal | Reason::Debugger | Reason::CpuLimit => true,
            Reason::Clock => self.cpu_ms == 0,
            _ => false,
        }
    }

    /// What identifies the case.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.reason.word(), self.seed)
    }
}
