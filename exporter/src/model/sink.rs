//! The interface of trace writers.

use std::borrow::Cow;

use trace_format::event::Clocks;
use trace_format::sections::process::Process;

use super::recorder_track::RECORDERS_COUNTERS;
use super::thread::SHORT_CALLS;
use super::{Names, Tally};
use crate::ExportError;
use crate::native::MappedFile;

/// The name of a slice, instant or counter.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// A method.
    Method(u32, &'a Names<'a>),
    /// A text that is likely to recur.
    Text(&'a str),
    /// A text that does not recur: not worth interning.
    Once(&'a str),
}

impl<'a> Name<'a> {
    /// The name as text.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        match *self {
            Self::Method(id, names) => names.method(id),
            Self::Text(text) | Self::Once(text) => Cow::Borrowed(text),
        }
    }
}

/// The value of an argument, with texts as `T`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<T> {
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// Nanoseconds, displayed as milliseconds.
    Millis(u64),
    /// A finite number with a fraction.
    Number(f64),
    /// A boolean.
    Bool(bool),
    /// A text.
    Text(T),
    /// Not an argument but a flow arrow: the arrow with this number passes through the event. It runs by time
    /// through all events with its number.
    Flow(u64),
    /// Not an argument but a group: viewers give events of one group one colour.
    Group(T),
    /// Not an argument but the slice's category.
    Category(&'static str),
    /// Not an argument but the main thread's CPU time so far, ns. Both ends of a slice have it, or neither.
    ThreadTime(u64),
}

impl<T> Value<T> {
    /// The value with its text in another form.
    pub(super) fn map<'v, U>(&'v self, text: impl Fn(&'v T) -> U) -> Value<U> {
        match self {
            Self::Text(it) => Value::Text(text(it)),
            Self::Group(it) => Value::Group(text(it)),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Millis(ns) => Value::Millis(*ns),
            Self::Number(value) => Value::Number(*value),
            Self::Bool(value) => Value::Bool(*value),
            Self::Flow(number) => Value::Flow(*number),
            Self::Category(name) => Value::Category(name),
            Self::ThreadTime(ns) => Value::ThreadTime(*ns),
        }
    }
}

/// Arguments that outlive their event.
pub(super) type OwnedArgs = Vec<(&'static str, Value<Box<str>>)>;

/// Owned arguments as an event has them.
pub(super) fn borrowed(args: &OwnedArgs) -> Vec<Arg<'_>> {
    args.iter().map(|(key, value)| Arg::new(key, value.map(|text| &**text))).collect()
}

/// One argument of an event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arg<'a> {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: Value<&'a str>,
}

impl<'a> Arg<'a> {
    /// An ordinary argument.
    pub(crate) fn new(key: &'static str, value: Value<&'a str>) -> Self {
        Self { key, value }
    }

    /// The arrow with this number passes through the event.
    pub(crate) fn flow(number: u64) -> Self {
        Self { key: "", value: Value::Flow(number) }
    }

    /// The event belongs to this group.
    pub(crate) fn group(name: &'a str) -> Self {
        Self { key: "", value: Value::Group(name) }
    }

    /// The slice has this category.
    pub(crate) fn category(name: &'static str) -> Self {
        Self { key: "", value: Value::Category(name) }
    }

    /// Main's CPU time so far, ns.
    pub(crate) fn thread_time(ns: u64) -> Self {
        Self { key: "", value: Value::ThreadTime(ns) }
    }

    /// Whether it is an ordinary argument, not an arrow, a group or a clock.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        !matches!(self.value, Value::Flow(_) | Value::Group(_) | Value::Category(_) | Value::ThreadTime(_))
    }
}

/// A process of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    /// Its pid in the trace, unique.
    pub pid: u32,
    /// Its uid.
    pub uid: u32,
    /// Its name.
    pub name: String,
    /// When it was first seen, BOOTTIME ns.
    pub started: u64,
    /// A note for the reader, if there is one.
    pub description: Option<String>,
    /// The system on which it was recorded.
    pub system: Process,
    /// Unused tids, one for each of [`Track::PLAIN`], for formats whose only tracks are threads.
    pub plain_tids: [u32; Track::PLAIN.len()],
    /// Its threads, main first.
    pub threads: Vec<ThreadInfo>,
}

impl ProcessInfo {
    /// Whether one of its threads or tracks has this tid in the trace.
    pub(crate) fn has_tid(&self, tid: u32) -> bool {
        self.pid == tid || self.plain_tids.contains(&tid) || self.threads.iter().any(|t| t.tid == tid)
    }
}

/// A thread of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadInfo {
    /// Its tid in the trace, unique; equal to the pid for the recorded main thread.
    pub tid: u32,
    /// Its tid as recorded.
    pub recorded_tid: u32,
    /// Its name, if known.
    pub name: Option<String>,
    /// Whether it is the recorded main thread.
    pub main: bool,
    /// Its position among the process's threads: main first, then those that main waited for.
    pub rank: u32,
}

/// A track of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Track {
    /// The thread with this index in [`ProcessInfo::threads`].
    Thread(usize),
    /// ANRs and thread dumps.
    Anr,
    /// The recorder's changes and their cost.
    Recorder,
    /// Main's CPU time while its message was late.
    Cpu,
    /// Main's messages before an ANR.
    MessageList,
    /// Messages that were late, at their due times, and those waiting at an ANR.
    Queue,
    /// The vsyncs of late frames.
    Vsync,
    /// Starts of the app and of its pages.
    Startup,
    /// What main did during a start, under the system's names.
    StartupPhases,
    /// The device and the process's threads while main was stalled: counters only.
    System,
    /// The hang of a program on a JVM, which has no message to carry it.
    Hang,
}

impl Track {
    /// The tracks that are not threads. Each occurs at most once per process.
    pub const PLAIN: [Self; 10] = [
        Self::Anr,
        Self::Recorder,
        Self::Cpu,
        Self::MessageList,
        Self::Queue,
        Self::Vsync,
        Self::Startup,
        Self::StartupPhases,
        Self::System,
        Self::Hang,
    ];

    /// Whether it is about the main thread, and so a child of it: readers that query main's slices find it.
    pub(crate) fn of_main(self) -> bool {
        matches!(self, Self::StartupPhases | Self::Cpu)
    }

    /// Whether it is in the recorder's group, which comes last.
    pub(crate) fn of_recorder(self) -> bool {
        matches!(self, Self::MessageList | Self::Queue | Self::Vsync)
    }

    /// Its position among the tracks of the process, or of its group.
    pub(crate) fn rank(self) -> u32 {
        match self {
            Self::Anr | Self::Hang => 0,
            Self::Thread(_) => 1,
            Self::Cpu => 2,
            Self::StartupPhases => 3,
            Self::Startup => 4,
            Self::MessageList => 5,
            Self::Queue => 6,
            Self::Vsync => 7,
            Self::System => 8,
            Self::Recorder => 100,
        }
    }

    /// Its index in [`Track::PLAIN`]; `None` for a thread.
    pub(crate) fn plain(self) -> Option<usize> {
        Self::PLAIN.iter().position(|track| *track == self)
    }

    /// Its name and description; `None` for a thread, which has its own name.
    #[must_use]
    pub fn described(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Thread(_) => None,
            Self::Anr => Some((
                "ANR",
                "ANRs from the begin of main's message to their detection, and requests for a thread dump",
            )),
            Self::Hang => {
                Some(("hang", "The hang that the report is about, from its begin to its end, with its cause"))
            }
            Self::Recorder => Some((
                "anrscope recorder",
                "What was recorded and what that cost (estimated), when recording was paused, and what else was \
                 changed while it ran",
            )),
            Self::Cpu => Some((
                "main: processor while late",
                "What the main thread did from one look at it to the next; it is looked at while its message is late",
            )),
            Self::MessageList => Some((
                "main: messages before an ANR",
                "Main's messages in the 10 s before an ANR was detected; those shorter than a frame are told together",
            )),
            Self::Queue => Some((
                "MessageQueue",
                "Messages that main took 100 ms and more after they were due, at the time at which they were; and what was \
                 waiting when an ANR was detected",
            )),
            Self::Vsync => Some(("VSYNC", "The vsyncs whose frames began later than an interval after them")),
            Self::Startup => Some((
                "Startup",
                "Starts of the app and its pages, from their begin to the focus, with what they were graded",
            )),
            Self::System => Some((
                "system while main was stalled",
                "What the process's threads and the rest of the device did, from one poll to the next",
            )),
            Self::StartupPhases => {
                Some(("main: startup", "What main did of a start, under the system's names for it"))
            }
        }
    }
}

/// The pid of the process that carries ANR records ([`Sink::anr`]). Android's pids end below it.
pub(crate) const SYSTEM_SERVER_PID: u32 = (1 << 24) - 1;
/// Maximum number of frames of a stack that a sink gets, from the innermost on; one more frame has the number of omitted ones.
pub(super) const MAX_SHOWN_FRAMES: usize = 1024;

/// Counters whose names begin like this are about the device and the process's threads while main was stalled.
pub(crate) const SYSTEM_COUNTER: &str = "system: ";

/// The group of a counter with this name; `None` for the app's own counters and those of its queues.
pub(crate) fn counter_group(name: &str) -> Option<Track> {
    if RECORDERS_COUNTERS.contains(&name) || name.ends_with(SHORT_CALLS) {
        return Some(Track::Recorder);
    }
    name.starts_with(SYSTEM_COUNTER).then_some(Track::System)
}

/// A track of which there may be several with one name, which viewers show as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane<'a> {
    /// The locks of the thread with this tid and name, which is one of the process's or came with a stack.
    Locks(u32, &'a str),
    /// Tasks that are queued, with the name of the track.
    Queue(&'a str),
}

impl<'a> Lane<'a> {
    /// The name of the track.
    #[must_use]
    pub fn name(self) -> Cow<'a, str> {
        match self {
            Self::Locks(_, thread) => Cow::Owned(format!("locks of {thread}")),
            Self::Queue(name) => Cow::Borrowed(name),
        }
    }
}

/// The level of a log line. The exporter's own lines use only three.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// For developers.
    Verbose,
    /// For debugging.
    Debug,
    /// Informational.
    Info,
    /// A warning.
    Warn,
    /// An ANR.
    Error,
    /// The process ends.
    Fatal,
}

/// A line of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLine<'a> {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// The level.
    pub level: Level,
    /// The app's tag and thread; `None` for the exporter's own lines.
    pub source: Option<LogSource<'a>>,
    /// The text.
    pub message: &'a str,
}

impl<'a> LogLine<'a> {
    /// One of the exporter's own lines.
    pub(crate) fn ours(at: u64, level: Level, message: &'a str) -> Self {
        Self { at, level, source: None, message }
    }
}

/// The source of a line of the app's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSource<'a> {
    /// The thread's tid in the trace.
    pub tid: u32,
    /// The tag.
    pub tag: &'a str,
}

/// An ANR as Perfetto's standard library reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnrRow<'a> {
    /// When it was detected, BOOTTIME ns.
    pub at: u64,
    /// Its stable identity, in the form of a UUID.
    pub error_id: &'a str,
    /// The subject in the system's words.
    pub subject: &'a str,
}

/// The unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Bytes.
    Bytes,
    /// A quantity with this unit sign.
    Sign(&'static str),
}

/// A frame as Perfetto's frame timeline shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRow {
    /// The number of its vsync, or a synthetic one.
    pub token: u64,
    /// The expected start and end, BOOTTIME ns, if known.
    pub expected: Option<(u64, u64)>,
    /// The actual start and end.
    pub actual: (u64, u64),
    /// The jank.
    pub jank: Jank,
}

/// The jank of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jank {
    /// On time.
    None,
    /// Main was late.
    Late,
    /// Main was late for so long that the frame counts as frozen.
    Frozen,
}

/// A frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StackFrame<'a> {
    /// `com.example.Main.onClick`, or a native function.
    pub function: &'a str,
    /// Its origin: a library, or the source of its name.
    pub mapping: &'a str,
    /// Source file and line, if known.
    pub source: Option<(&'a str, u32)>,
    /// Its place in a file of native code.
    pub native: Option<NativeCode<'a>>,
}

/// A place in a file of native code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NativeCode<'a> {
    /// The address in the numbering of the file.
    pub rel_pc: u64,
    /// The file as it was mapped.
    pub file: &'a MappedFile,
}

/// A thread's state at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ThreadState<'a> {
    /// `dump: Blocked`.
    pub name: &'a str,
    /// The details.
    pub args: &'a [Arg<'a>],
}

/// Why a native stack lacks its outermost frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// The copy of the stack ends there.
    Memory,
    /// What is needed to unwind further is missing.
    UnwindData,
}

/// A thread's stack, and its state in a dump.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StackRow<'a> {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// The thread's tid in the trace.
    pub tid: u32,
    /// Its name, if the thread is not in [`ProcessInfo::threads`].
    pub name: Option<&'a str>,
    /// The frames, outermost first; empty only if there is a state.
    pub frames: &'a [StackFrame<'a>],
    /// Whether the frames are a sample for flame graphs: main's are, and native stacks. Those of other threads in a
    /// dump are shown beside their states.
    pub sampled: bool,
    /// Why unwinding stopped before the outermost frame.
    pub cut: Option<Cut>,
    /// Its state in a dump: shown as an instant on the thread's track.
    pub state: Option<ThreadState<'a>>,
}

/// Receives a model in order: the head, then for each process its tracks one after another, on each track
/// events whose times never run back and whose starts and ends balance.
pub trait Sink {
    /// Whether the events of this thread are needed.
    fn wants(&self, _thread: &ThreadInfo) -> bool {
        true
    }
    /// Starts the trace: it begins no earlier than `start`; `clocks` are sorted by BOOTTIME.
    ///
    /// # Errors
    /// If the output cannot be written; the same for all other methods.
    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError>;
    /// Adds a process and all of its threads.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn process(&mut self, process: &ProcessInfo) -> Result<(), ExportError>;
    /// Selects the track of the last process to which the following events belong.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn track(&mut self, track: Track) -> Result<(), ExportError>;
    /// Selects a further track, next to the process's or to a thread's own.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn lane(&mut self, lane: Lane<'_>) -> Result<(), ExportError>;
    /// Starts a slice.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn begin(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError>;
    /// Ends the innermost open slice; `args` were not known at its start.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError>;
    /// Adds an event without duration.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn instant(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError>;
    /// Adds a sample of a counter of the process. `value` is finite; `at` may be before the track's last event.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn counter(&mut self, at: u64, name: &str, unit: Unit, value: f64) -> Result<(), ExportError>;
    /// Adds a frame of the process, at any time.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn frame(&mut self, row: &FrameRow) -> Result<(), ExportError>;
    /// Adds a stack of the process, at any time. Stacks come one after another, after all tracks of the
    /// process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError>;
    /// Adds a line to the log of the process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError>;
    /// Adds an ANR of the process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn anr(&mut self, row: &AnrRow<'_>) -> Result<(), ExportError>;
    /// Adds metadata of the whole trace, and ends it.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn finish(&mut self, facts: &[(String, String)]) -> Result<(), ExportError>;
}

/// A sink, and the counts of what it got from all recordings so far.
pub(crate) struct TallySink<'a, K> {
    pub(super) sink: &'a mut K,
    pub(super) tally: &'a mut Tally,
}

impl<K: Sink> TallySink<'_, K> {
    /// Selects a track that follows all earlier ones.
    pub(super) fn track(&mut self, track: Track) -> Result<(), ExportError> {
        self.tally.tracks += 1;
        self.sink.track(track)
    }

    /// Selects a further track.
    pub(super) fn lane(&mut self, lane: Lane<'_>) -> Result<(), ExportError> {
        self.tally.tracks += 1;
        self.sink.lane(lane)
    }

    /// Starts a slice with a name that is likely to recur.
    pub(super) fn begin(&mut self, at: u64, name: &str, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.tally.slices += 1;
        self.sink.begin(at, Name::Text(name), args)
    }

    /// Ends the innermost open slice.
    pub(super) fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.sink.end(at, args)
    }

    /// Adds an event without duration, with a name that is likely to recur.
    pub(super) fn instant(&mut self, at: u64, name: &str, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.tally.instants += 1;
        self.sink.instant(at, Name::Text(name), args)
    }

    /// Adds a sample of a counter.
    pub(super) fn counter(&mut self, at: u64, name: &str, unit: Unit, value: f64) -> Result<(), ExportError> {
        self.tally.counters += 1;
        self.sink.counter(at, name, unit, value)
    }

    /// Adds a frame.
    pub(super) fn frame(&mut self, row: &FrameRow) -> Result<(), ExportError> {
        self.tally.frames += 1;
        self.sink.frame(row)
    }

    /// Adds a stack.
    pub(super) fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError> {
        self.tally.stacks += u64::from(!row.frames.is_empty());
        self.tally.instants += u64::from(row.state.is_some());
        self.sink.stack(row)
    }

    /// Adds one of the exporter's own lines to the log.
    pub(super) fn log(&mut self, at: u64, level: Level, message: &str) -> Result<(), ExportError> {
        self.sink.log(&LogLine::ours(at, level, message))
    }
}
