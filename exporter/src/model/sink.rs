//! What a writer of traces has to be able to do.

use std::borrow::Cow;

use trace_format::event::Clocks;

use super::Names;
use crate::ExportError;

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
    /// Tids that nobody has, one for each of [`Track::PLAIN`], for writers that know no other tracks than threads.
    pub plain_tids: [u32; Track::PLAIN.len()],
    /// Its threads, main first.
    pub threads: Vec<ThreadInfo>,
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
}

impl Track {
    /// The tracks that are none of a thread. Each comes at most once a process.
    pub const PLAIN: [Self; 3] = [Self::Anr, Self::Recorder, Self::Processor];

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
        }
    }
}

/// How grave a log line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Good to know.
    Info,
    /// Odd.
    Warn,
    /// An ANR.
    Error,
}

/// A line of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLine<'a> {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// How grave.
    pub level: Level,
    /// What.
    pub message: &'a str,
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

/// Takes a model, in order: the head, then for each process its tracks one after the other, on each
/// track events whose times never run back and whose begins and ends balance.
pub trait Sink {
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
    /// A sample of a counter of the process. `value` is finite.
    ///
    /// # Errors
    /// As for [`Sink::head`].
    fn counter(&mut self, at: u64, name: &str, value: f64) -> Result<(), ExportError>;
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
