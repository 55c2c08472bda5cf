//! The content of a dump.
//!
//! The types that are `Serialize` are also its JSON, which `docs/dump.md` describes: the name of a field is its key, except where
//! an attribute says otherwise.

use serde::Serialize;

use super::anr_report::AnrReport;
use super::event_log::CriticalEvent;
use super::facts::Fact;
use super::frame::Frame;
use super::limits::FRAMES;
use super::lock_line::{LockKind, LockLine};
use super::long_methods::LongMethods;
use super::subject::Subject;

/// A parsed dump: the processes of one text, in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Dump {
    /// Why the system made the dump, if stated (ApplicationExitInfo, Android 11 and later).
    pub subject: Option<Subject>,
    /// Facts before the first process: memory of the process, latencies of the system.
    pub facts: Vec<Fact>,
    /// The system's event log, oldest first.
    pub events: Vec<CriticalEvent>,
    /// The system's ANR reports from its log, in the text's order.
    pub anr_reports: Vec<AnrReport>,
    /// The process that the system dumped first.
    pub first_dumped: Option<u32>,
    /// The processes.
    pub sections: Vec<Section>,
    /// Problems found while reading, in words.
    pub warnings: Vec<String>,
}

/// The content of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    /// Threads.
    #[default]
    Threads,
    /// Where in the kernel each thread waits: `Waiting Channels`.
    WaitingChannels,
}

/// One process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Section {
    /// Its content.
    pub kind: SectionKind,
    /// The process; `None` in a text without the section's head.
    pub pid: Option<u32>,
    /// When it was dumped, as written: local time, on newer systems with its zone.
    pub time: Option<String>,
    /// Its command line; for an app the process name.
    pub cmdline: Option<String>,
    /// The number of threads that ART declares.
    pub declared_threads: Option<u32>,
    /// Other facts of the head.
    pub facts: Vec<Fact>,
    /// The threads, in the text's order.
    pub threads: Vec<Thread>,
    /// The wait channels, in a section of that kind.
    pub channels: Vec<WaitChannel>,
    /// ART's long running methods (Android 17), if it recorded them.
    pub long_methods: Option<LongMethods>,
    /// The threads of which the JVM agent's dump says that they did not come on.
    pub standing: Vec<Standing>,
    /// True if the JVM agent found that both ends of each of its connections are in it.
    pub connects_to_itself: bool,
    /// The number of threads for which the JVM agent had no room or no time: nothing follows from the absence of one.
    pub left_out: u32,
    /// Whether its last line is present.
    pub ended: bool,
    /// Its first line in the text, from 1.
    pub line: u32,
}

/// A thread whose stack did not change for some seconds, by samples of the JVM agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The thread's number.
    pub tid: u32,
    /// The time between the first and the last of the samples, ns.
    pub ns: u64,
    /// If the thread computed meanwhile, the innermost method that stayed; only the stack up to there did not change.
    pub computes_in: Option<String>,
    /// The samples, if the thread computed.
    pub samples: Vec<SampledStack>,
}

/// The part of a stack from its innermost method to the one in which the thread computes, as samples share it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SampledStack {
    /// The number of samples that have it.
    pub count: u64,
    /// The methods, innermost first; of a method that calls itself one.
    pub methods: Vec<String>,
}

/// Where in the kernel a thread waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitChannel {
    /// The thread's id in the kernel.
    pub sys_tid: u32,
    /// Its kernel state, if given: R, S, D, ...
    pub state: Option<char>,
    /// The kernel function.
    pub channel: String,
}

/// The format of a thread, by its writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThreadForm {
    /// ART's or Dalvik's format.
    #[default]
    Art,
    /// debuggerd's format: native frames only.
    Native,
    /// A tombstone's format: native frames only.
    Tombstone,
    /// The Play Console's export.
    PlayConsole,
    /// Crashlytics' export.
    Crashlytics,
    /// HotSpot's: `kill -3`, `jstack`, `jcmd PID Thread.print`.
    #[serde(rename = "hotspot")]
    HotSpot,
    /// `jcmd PID Thread.dump_to_file`'s.
    #[serde(rename = "hotspot_file")]
    HotSpotFile,
    /// Android Studio's and IntelliJ's export.
    AndroidStudio,
    /// A coroutine, as kotlinx-coroutines-debug prints it.
    Coroutine,
    /// A thread whose first line is missing.
    Headless,
    /// A stack without a thread: an exception's, or what Sentry and Bugsnag show of an ANR.
    Stack,
}

impl ThreadForm {
    /// Whether HotSpot itself wrote it, about a program on a JVM.
    pub(crate) fn is_of_hotspot(self) -> bool {
        matches!(self, Self::HotSpot | Self::HotSpotFile)
    }

    /// Whether it has the lines of HotSpot's dumps, as also Android Studio writes them about an app.
    pub(crate) fn is_like_hotspots(self) -> bool {
        self.is_of_hotspot() || self == Self::AndroidStudio
    }
}

/// One thread.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Thread {
    /// Its name; `None` if its first line is missing.
    pub name: Option<String>,
    /// Its format.
    pub form: ThreadForm,
    /// Whether it is attached to the virtual machine.
    pub attached: bool,
    /// Whether it is a daemon.
    pub daemon: bool,
    /// Whether ART reports that it is still starting.
    pub starting: bool,
    /// Java priority, 1 to 10.
    pub priority: Option<i32>,
    /// Its id in the virtual machine, by which lock lines name owners; 1 is main.
    pub tid: Option<u32>,
    /// The kernel's thread id.
    pub sys_tid: Option<u32>,
    /// The virtual machine's state as written: `Blocked`, `TimedWaiting`; Dalvik: `MONITOR`, `VMWAIT`.
    pub state: Option<String>,
    /// The kernel's state: R, S, D, T, Z, ...
    pub native_state: Option<char>,
    /// Thread group.
    pub group: Option<String>,
    /// Its suspend count.
    pub suspend_count: Option<u32>,
    /// The part of it from user code (`ucsCount`) or the debugger (`dsCount`).
    pub other_suspend_count: Option<u32>,
    /// Nice value, -20 to 19.
    pub nice: Option<i32>,
    /// Control group.
    pub cgroup: Option<String>,
    /// Scheduling policy and priority, as written.
    pub sched: Option<String>,
    /// Time on a CPU in ns, time runnable in ns, and number of time slices.
    pub schedstat: Option<[u64; 3]>,
    /// CPU time in user mode, in units of 1/HZ s.
    pub utm: Option<u64>,
    /// CPU time in kernel mode, in units of 1/HZ s.
    pub stm: Option<u64>,
    /// Number of units of utm and stm per second.
    pub hz: Option<u32>,
    /// Its CPU time in ns (HotSpot, JDK 11 and later).
    pub cpu_ns: Option<u64>,
    /// Its age in ns (HotSpot, JDK 11 and later).
    pub elapsed_ns: Option<u64>,
    /// Whether it is a virtual thread (JDK 21 and later).
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// The CPU on which it last ran.
    pub core: Option<u32>,
    /// Size of its stack in bytes.
    #[serde(rename = "stack_bytes")]
    pub stack_size: Option<u64>,
    /// ART's internal mutexes that it holds.
    pub held_mutexes: Vec<String>,
    /// Its frames, innermost first: kernel, native, Java.
    pub frames: Vec<Frame>,
    /// Its lock lines, in the text's order.
    pub locks: Vec<LockLine>,
    /// Other remarks: for example why a stack could not be read.
    pub remarks: Vec<String>,
    /// Number of frames left out; see [`super::limits`].
    pub cut_frames: u64,
    /// Its first and last line in the text, from 1.
    pub lines: (u32, u32),
}

impl Thread {
    pub(crate) fn new(name: Option<String>, form: ThreadForm) -> Self {
        Self { name, form, attached: true, ..Self::default() }
    }

    /// Replaces each frame by those that `expand` appends for it; lock lines stay below the last of them. Each frame can expand
    /// to many, so that only the innermost [`FRAMES`] are kept.
    pub(super) fn expand_frames(&mut self, mut expand: impl FnMut(Frame, &mut Vec<Frame>)) {
        let old = std::mem::take(&mut self.frames);
        let mut last_new = Vec::with_capacity(old.len());
        for frame in old {
            expand(frame, &mut self.frames);
            self.cut_frames += self.frames.len().saturating_sub(FRAMES) as u64;
            self.frames.truncate(FRAMES);
            last_new.push(self.frames.len().checked_sub(1));
        }
        for lock in &mut self.locks {
            lock.frame = lock.frame.and_then(|frame| *last_new.get(frame)?);
        }
    }

    /// The lock that it waits to acquire; for a lock of `java.util.concurrent` only if its owner is known.
    #[must_use]
    pub fn awaited_lock(&self) -> Option<&LockLine> {
        let parked = |lock: &LockLine| lock.kind == LockKind::ParkingFor && lock.owner.is_some();
        let waits =
            |lock: &LockLine| matches!(lock.kind, LockKind::WaitingToLock | LockKind::WaitingForClass);
        self.locks.iter().find(|lock| waits(lock) || parked(lock))
    }

    /// The identity of the object that it is parked for: a future, a lock or a condition.
    pub(crate) fn parked_for(&self) -> Option<u64> {
        self.locks.iter().find(|lock| lock.kind == LockKind::ParkingFor)?.address
    }

    /// Name and ids for people.
    #[must_use]
    pub fn title(&self) -> String {
        let unnamed =
            if self.form == ThreadForm::Stack { "a stack without a thread" } else { "a thread without name" };
        let name = self.name.as_deref().map_or(unnamed.to_owned(), |name| format!("\"{name}\""));
        match (self.tid, self.sys_tid) {
            (Some(tid), Some(sys)) => format!("{name} (tid {tid}, sysTid {sys})"),
            (Some(tid), None) => format!("{name} (tid {tid})"),
            (None, Some(sys)) => format!("{name} (sysTid {sys})"),
            (None, None) => name,
        }
    }
}

impl Section {
    /// The main thread: the one with tid 1, the one whose sysTid is the pid (in a native dump, main has the
    /// process's name), or the one called main. In a JVM only the name decides: main's number differs between
    /// versions (1 in JDK 17, 3 in JDK 25).
    #[must_use]
    pub fn main(&self) -> Option<&Thread> {
        let called_main = || self.threads.iter().find(|thread| thread.name.as_deref() == Some("main"));
        match self.threads.first()? {
            first if first.form.is_like_hotspots() => called_main(),
            first if first.form == ThreadForm::Stack => called_main().or(Some(first)),
            _ => self
                .thread(1)
                .or_else(|| self.threads.iter().find(|t| t.sys_tid.is_some() && t.sys_tid == self.pid))
                .or_else(called_main),
        }
    }

    /// The thread with this tid of the virtual machine.
    #[must_use]
    pub fn thread(&self, tid: u32) -> Option<&Thread> {
        self.threads.iter().find(|t| t.tid == Some(tid))
    }

    /// Its name for people.
    #[must_use]
    pub fn title(&self) -> String {
        let vm = super::facts::text(&self.facts, "vm");
        let name = self.cmdline.as_deref().or(vm).unwrap_or("a process without name");
        self.pid.map_or(name.to_owned(), |pid| format!("{name} (pid {pid})"))
    }
}
