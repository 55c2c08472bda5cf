//! One page that says in words what hung.

pub mod cause;
mod chart;
mod collect;
mod context;
mod hang;
mod history;
mod html;
mod json;
mod messages;
mod recorder;
mod sections;
mod text;
mod waits;
mod walk;
mod words;

use std::fmt;
use std::path::Path;

use trace_format::event::{Clocks, WaitKind};
use trace_format::layout::State;
use trace_format::verdict::Counters;
use trace_format::{Recording, Source};

use crate::model::{Anr, Capture, Off, Pause, Processor, SelfMeasurement, Start};
use crate::{ExportError, MethodMap, Warning};

pub use cause::{Cause, CauseKind, Evidence};
pub use chart::{Chart, Slice};
pub use context::Answers;
pub use history::{Before, MessageKind};
pub use html::MAX_EMBEDDED;
pub use json::SCHEMA_VERSION;
pub use sections::{AppIssue, PlatformProfile, Sections, Snapshot, StackSample};
pub(crate) use words::seconds;

/// What a recording tells. Times are BOOTTIME ns, durations ns.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The process's name.
    pub process: String,
    /// Its pid.
    pub pid: u32,
    /// When recording began.
    pub start: Clocks,
    /// The first moment of which anything is left.
    pub first: u64,
    /// The last moment at which the process is known to have lived.
    pub end: u64,
    /// How the recording ended.
    pub state: Option<State>,
    /// The worst hang of the main thread, if there was one.
    pub hang: Option<Hang>,
    /// All ANRs, by time.
    pub anrs: Vec<Anr>,
    /// SIGQUITs that were no ANR of this process.
    pub captures: Vec<Capture>,
    /// What the SIGQUIT sensor had done, where the recording says so.
    pub signals: Option<Counters>,
    /// Why main did not come back, if it did not or the system asked.
    pub cause: Option<Cause>,
    /// What ran in the 10 s before the hang, or before the end.
    pub before: Before,
    /// Starts and pages, by time.
    pub starts: Vec<Start>,
    /// Profiles of its ANRs that the platform left on the device.
    pub profiles: Vec<PlatformProfile>,
    /// The slowest messages and frames that ended in the 10 s before the hang, or before the end.
    pub slowest: Vec<Slow>,
    /// How many events of which kind there are.
    pub counts: Counts,
    /// What recording cost, and what was changed while it ran.
    pub recorder: RecorderReport,
    /// What the recorder said of itself, with the time.
    pub notices: Vec<(u64, String)>,
    /// What is missing or doubtful.
    pub warnings: Vec<Warning>,
}

/// A stretch in which the main thread did not come back.
#[derive(Clone, PartialEq, Debug)]
pub struct Hang {
    /// The message that main was in, if it was recorded.
    pub message: Option<String>,
    /// When it began.
    pub since: u64,
    /// When it ended, or the last moment of the recording.
    pub until: u64,
    /// Whether it ended.
    pub ended: bool,
    /// The moment at which `stack` was taken: the last one, or for a hang that ended, when the ANR was
    /// detected.
    pub at: u64,
    /// What was open on main at that moment, outermost first.
    pub stack: Vec<Frame>,
    /// The wait that main was in at that moment.
    pub wait: Option<WaitFact>,
    /// What main used of the processor meanwhile, if it was looked at.
    pub processor: Option<Processor>,
    /// The ANR that was made of it.
    pub anr: Option<Anr>,
}

impl Hang {
    /// How long it lasted, as far as is known.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// The innermost method that was open.
    #[must_use]
    pub fn method(&self) -> Option<&Frame> {
        self.stack.iter().rev().find(|f| f.kind == FrameKind::Method)
    }
}

/// What an open frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// A method.
    Method,
    /// A Looper message.
    Message,
    /// A display frame, or a stage of one.
    Frame,
    /// A wait.
    Wait,
    /// A span or idle handler.
    Span,
}

/// Something that was open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// Its name.
    pub name: String,
    /// When it began.
    pub since: u64,
}

/// A wait, and who keeps it waiting.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitFact {
    /// What kind.
    pub kind: WaitKind,
    /// When it began.
    pub since: u64,
    /// The lock's class, or the name of the blocking call.
    pub class: Option<String>,
    /// The lock's identity, 0 if unknown.
    pub lock: u64,
    /// Who holds the lock.
    pub holder: Option<Holder>,
}

/// The thread that holds a lock.
#[derive(Clone, PartialEq, Debug)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// Its tid.
    pub tid: u32,
    /// What was open on it at the moment of the report, outermost first.
    pub stack: Vec<Frame>,
    /// The last method it left before that moment, for where nothing is open.
    pub last_left: Option<String>,
    /// The lock that it waits for in turn: its class or identity, and who holds that.
    pub waits_for: Option<(String, Option<String>)>,
}

/// A message or frame that took long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slow {
    /// Its name.
    pub name: String,
    /// When it began.
    pub since: u64,
    /// How long it took.
    pub duration: u64,
}

/// How much was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Threads.
    pub threads: u64,
    /// Words in the recording, and words overwritten by newer ones.
    pub words: u64,
    /// Words overwritten by newer ones.
    pub overwritten: u64,
    /// Messages of the main thread.
    pub messages: u64,
    /// Frames of the main thread.
    pub frames: u64,
    /// Methods entered on the main thread.
    pub methods: u64,
}

/// What recording cost, and what was changed while it ran.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RecorderReport {
    /// What an event costs on the device, if that was measured.
    pub measurement: Option<SelfMeasurement>,
    /// What recording cost the main thread, estimated, in percent of its time since its first event.
    pub main_cost_percent: Option<f64>,
    /// What it cost all threads together, estimated, in percent of one processor.
    pub all_cost_percent: Option<f64>,
    /// Times that were moved so that none runs back.
    pub clamped: u64,
    /// When nothing was recorded.
    pub pauses: Vec<Pause>,
    /// The methods that were switched off when the recording ended, with their names.
    pub off: Vec<(String, Off)>,
}

impl Report {
    /// Reads a recording. `file` is for messages only.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn build<S: Source>(
        file: &Path,
        recording: &Recording<S>,
        map: &MethodMap,
    ) -> Result<Self, ExportError> {
        collect::build(file, recording, map)
    }

    /// What main did in the hang and in the 10 s before, or in the last 10 s, to be drawn.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn chart<S: Source>(
        &self,
        file: &Path,
        recording: &Recording<S>,
        map: &MethodMap,
    ) -> Result<Chart, ExportError> {
        collect::chart(file, recording, map, self)
    }

    /// Whether the main thread hung.
    #[must_use]
    pub fn hung(&self) -> bool {
        self.hang.is_some()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}
