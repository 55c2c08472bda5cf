//! What a writer of traces has to be able to do.

use std::borrow::Cow;

use trace_format::event::Clocks;

use super::Names;
use super::recorder_track::RECORDERS_COUNTERS;
use super::thread::SHORT_CALLS;
use crate::ExportError;
use crate::facts::SystemInfo;

/// The name of a slice, instant or counter.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// A method, or DISPATCH.
    Method(u32, &'a Names<'a>),
    /// A text that is likely to come again.
    Text(&'a str),
    /// A text that does not come again: not worth remembering.
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

/// The value of an argument.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// Nanoseconds, to be shown as milliseconds.
    Millis(u64),
    /// A number with a fraction; it is finite.
    Number(f64),
    /// A yes or no.
    Bool(bool),
    /// A text.
    Text(&'a str),
    /// No argument but a link: an arrow of this number passes here. It runs by time through all events with its number.
    Flow(u64),
    /// No argument but a group: viewers give events of one group one colour.
    Group(&'a str),
    /// No argument but what the slice is about, one of few words.
    Category(&'static str),
    /// No argument but the time that the main thread had spent on processors by then, ns. Both ends of a slice have it, or
    /// neither.
    ThreadTime(u64),
}

/// One argument of an event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arg<'a> {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: Value<'a>,
}

impl<'a> Arg<'a> {
    /// An argument.
    #[must_use]
    pub fn new(key: &'static str, value: Value<'a>) -> Self {
        Self { key, value }
    }

    /// The arrow of this number passes here.
    #[must_use]
    pub fn flow(number: u64) -> Self {
        Self { key: "", value: Value::Flow(number) }
    }

    /// The event belongs to this group.
    #[must_use]
    pub fn group(name: &'a str) -> Self {
        Self { key: "", value: Value::Group(name) }
    }

    /// The slice is about this.
    #[must_use]
    pub fn category(name: &'static str) -> Self {
        Self { key: "", value: Value::Category(name) }
    }

    /// Main had spent so much time on processors, ns.
    #[must_use]
    pub fn thread_time(ns: u64) -> Self {
        Self { key: "", value: Value::ThreadTime(ns) }
    }

    /// Whether it is an argument, and not a link, a group or a clock.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        !matches!(self.value, Value::Flow(_) | Value::Group(_) | Value::Category(_) | Value::ThreadTime(_))
    }
}

/// A process of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    /// Its pid in the trace, unique there.
    pub pid: u32,
    /// Its uid.
    pub uid: u32,
    /// Its name.
    pub name: String,
    /// When it was first seen, BOOTTIME ns.
    pub started: u64,
    /// What a reader should know about it, if anything.
    pub description: Option<String>,
    /// What its recording says of the system.
    pub system: SystemInfo,
    /// Tids that nobody has, one for each of [`Track::PLAIN`], for writers that know no other tracks than threads.
    pub plain_tids: [u32; Track::PLAIN.len()],
    /// Its threads, main first.
    pub threads: Vec<ThreadInfo>,
}

impl ProcessInfo {
    /// Whether a thread of it has this tid in the trace, or one of its tracks does.
    #[must_use]
    pub fn has_tid(&self, tid: u32) -> bool {
        self.pid == tid || self.plain_tids.contains(&tid) || self.threads.iter().any(|t| t.tid == tid)
    }
}

/// A thread of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadInfo {
    /// Its tid in the trace, unique there; equal to the pid for the recorded main thread.
    pub tid: u32,
    /// Its tid as recorded.
    pub recorded_tid: u32,
    /// Its name, if it is known.
    pub name: Option<String>,
    /// Whether it is the recorded main thread.
    pub main: bool,
    /// Its place among the process's threads: main first, then those that main waited for.
    pub rank: u32,
}

/// A track of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Track {
    /// The thread at this index of [`ProcessInfo::threads`].
    Thread(usize),
    /// ANRs and thread dumps.
    Anr,
    /// What the recorder did and what that cost.
    Recorder,
    /// What main used of the processor while its message was late.
    Processor,
    /// Main's messages before an ANR, one after the other.
    History,
    /// Messages that were late, when they were due, and those that were waiting at an ANR.
    Queue,
    /// The vsyncs that late frames were for.
    Vsync,
    /// Starts of the app and of its pages.
    Startup,
    /// What main did of a start, in the system's words.
    StartupPhases,
}

impl Track {
    /// The tracks that are none of a thread. Each comes at most once a process.
    pub const PLAIN: [Self; 8] = [
        Self::Anr,
        Self::Recorder,
        Self::Processor,
        Self::History,
        Self::Queue,
        Self::Vsync,
        Self::Startup,
        Self::StartupPhases,
    ];

    /// Whether it tells of the main thread, and so hangs below it: readers that ask for main's slices find it.
    #[must_use]
    pub fn of_main(self) -> bool {
        matches!(self, Self::StartupPhases | Self::Processor)
    }

    /// Whether it is in the recorder's group, which stands at the end: no reader asks for it first.
    #[must_use]
    pub fn of_recorder(self) -> bool {
        matches!(self, Self::History | Self::Queue | Self::Vsync)
    }

    /// Its place among the tracks of the process, or of its group.
    #[must_use]
    pub fn rank(self) -> u32 {
        match self {
            Self::Anr => 0,
            Self::Thread(_) => 1,
            Self::Processor => 2,
            Self::StartupPhases => 3,
            Self::Startup => 4,
            Self::History => 5,
            Self::Queue => 6,
            Self::Vsync => 7,
            Self::Recorder => 100,
        }
    }

    /// Its place in [`Track::PLAIN`]; `None` for a thread's.
    #[must_use]
    pub fn plain(self) -> Option<usize> {
        Self::PLAIN.iter().position(|track| *track == self)
    }

    /// The name and what it holds; `None` for a thread's, which has its own name.
    #[must_use]
    pub fn described(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Thread(_) => None,
            Self::Anr => Some((
                "ANR",
                "ANRs from the begin of main's message to their detection, and requests for a thread dump",
            )),
            Self::Recorder => Some((
                "anrscope recorder",
                "What was recorded and what that cost (estimated), when recording was paused, and what else was \
                 changed while it ran",
            )),
            Self::Processor => Some((
                "main: processor while late",
                "What the main thread did from one look at it to the next; it is looked at while its message is late",
            )),
            Self::History => Some((
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
            Self::StartupPhases => {
                Some(("main: startup", "What main did of a start, under the system's names for it"))
            }
        }
    }
}

/// Whether a counter of this name is the recorder's own, and not the app's.
#[must_use]
pub fn is_recorders_counter(name: &str) -> bool {
    RECORDERS_COUNTERS.contains(&name) || name.ends_with(SHORT_CALLS)
}

/// What the rows of locks of a thread of this name are called.
#[must_use]
pub fn locks_name(thread: &str) -> String {
    format!("locks of {thread}")
}

/// How grave a log line is. Of ours only three come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// For whoever wrote the code.
    Verbose,
    /// For whoever looks for a fault.
    Debug,
    /// Good to know.
    Info,
    /// Odd.
    Warn,
    /// An ANR.
    Error,
    /// What ends a process.
    Fatal,
}

/// A line of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLine<'a> {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// How grave.
    pub level: Level,
    /// Who of the app wrote it; `None` for a line of ours.
    pub source: Option<LogSource<'a>>,
    /// What.
    pub message: &'a str,
}

impl<'a> LogLine<'a> {
    /// A line of ours.
    #[must_use]
    pub fn ours(at: u64, level: Level, message: &'a str) -> Self {
        Self { at, level, source: None, message }
    }
}

/// Who wrote a line of the app's log.
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
    /// Its identity, in the form of a UUID.
    pub error_id: &'a str,
    /// What the system would call the subject.
    pub subject: &'a str,
}

/// What a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Whatever it is.
    Count,
    /// Bytes.
    Bytes,
    /// Something with this sign.
    Sign(&'static str),
}

/// A frame as Perfetto's frame timeline shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRow {
    /// The number of its vsync, or one that is made up.
    pub token: u64,
    /// When it was expected to begin and end, BOOTTIME ns, if that is known.
    pub expected: Option<(u64, u64)>,
    /// When it began and ended.
    pub actual: (u64, u64),
    /// How bad it was.
    pub jank: Jank,
}

/// How bad a frame was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jank {
    /// Not at all.
    None,
    /// Main was late.
    Late,
    /// Main was late for so long that nobody would call it a frame.
    Frozen,
}

/// A frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StackFrame<'a> {
    /// `com.example.Main.onClick`, or a native function.
    pub function: &'a str,
    /// What it is from: a library, or where its name came from.
    pub mapping: &'a str,
    /// File and line in the source, if they are known.
    pub source: Option<(&'a str, u32)>,
}

/// What was said of a thread at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ThreadState<'a> {
    /// `dump: Blocked`.
    pub name: &'a str,
    /// All that was said.
    pub args: &'a [Arg<'a>],
}

/// What a thread had on its stack, and what else a dump said of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StackRow<'a> {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// The thread's tid in the trace.
    pub tid: u32,
    /// Its name, for a thread that is not among those of [`ProcessInfo::threads`].
    pub name: Option<&'a str>,
    /// The frames, outermost first; none only where there is a state.
    pub frames: &'a [StackFrame<'a>],
    /// Whether the frames are a sample for flame graphs: only main's are. Those of the others stand beside their states.
    pub sampled: bool,
    /// What a dump says of it: shown as an instant on the thread's track.
    pub state: Option<ThreadState<'a>>,
}

/// Takes a model, in order: the head, then for each process its tracks one after the other, on each
/// track events whose times never run back and whose begins and ends balance.
pub trait Sink {
    /// Whether the events of this thread are of use.
    fn wants(&self, _thread: &ThreadInfo) -> bool {
        true
    }
    /// The trace begins no earlier than `start`; `clocks` come by rising BOOTTIME.
    ///
    /// # Errors
    /// If the output cannot be written; so for all that follows.
    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError>;
    /// A process and all of its threads.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn process(&mut self, process: &ProcessInfo) -> Result<(), ExportError>;
    /// Events from here on belong to this track of the last process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn track(&mut self, track: Track) -> Result<(), ExportError>;
    /// Events from here on belong to a row of locks beside the thread with this tid, which is one of the process's or came
    /// with a stack, and has this name. `lane` distinguishes the rows of one thread, and each comes once.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn locks(&mut self, tid: u32, name: &str, lane: usize) -> Result<(), ExportError>;
    /// A slice begins.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn begin(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError>;
    /// The innermost open slice ends; `args` were not known at its begin.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError>;
    /// Something without length.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn instant(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError>;
    /// A sample of a counter of the process. `value` is finite; `at` may lie before the track's last event.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn counter(&mut self, at: u64, name: &str, unit: Unit, value: f64) -> Result<(), ExportError>;
    /// A frame of the process, at any time.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn frame(&mut self, row: &FrameRow) -> Result<(), ExportError>;
    /// A stack of the process, at any time. They come one after the other and behind all tracks of the process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError>;
    /// A line of the log of the process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError>;
    /// An ANR of the process.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn anr(&mut self, row: &AnrRow<'_>) -> Result<(), ExportError>;
    /// Facts about the trace as a whole; nothing follows.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn finish(&mut self, facts: &[(String, String)]) -> Result<(), ExportError>;
}
