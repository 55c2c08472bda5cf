//! From a recording to balanced slices.
//!
//! [`stream`] reads each thread once, pairs begins with ends (`thread`) and hands the result to a
//! [`Sink`] in file order: process, its tracks one after the other, each track's events by time. What a
//! name needs from elsewhere (the end of the recording, what a lock's owner was doing) is found by a
//! first pass (`survey`, `owners`). Nothing here grows with the number of events.

mod anr;
mod coverage;
mod dumped;
mod filter;
mod flows;
mod folded;
mod frames;
mod history;
mod identity;
mod incident_track;
mod labels;
mod late_tracks;
mod log_form;
mod measured_stages;
mod names;
mod overhead;
mod owners;
mod rate;
mod recorder;
mod recorder_track;
mod restored;
mod samples;
mod sink;
mod snapshot;
mod stack;
mod start;
mod startup;
mod stream;
mod survey;
mod system;
mod tally;
mod thread;
mod typed;
mod unit;
mod verdicts;

pub use anr::{Anr, Capture, Detector, Incidents};
pub use coverage::Coverage;
pub(crate) use filter::is_called;
pub use filter::{Filter, Selection};
pub use names::Names;
pub use overhead::{Cost, Overhead};
pub use recorder::{Off, Pause, Processor, RecorderFacts, SelfMeasurement, Standstills, Why};
pub use sink::{
    AnrRow, Arg, FrameRow, Jank, Level, LogLine, LogSource, Name, ProcessInfo, Sink, StackFrame, StackRow,
    ThreadInfo, ThreadState, Track, Unit, Value,
};
pub use snapshot::Snapshot;
pub use start::{Start, StartKind};
pub(crate) use stream::first_moment;
pub use stream::{Input, stream};
pub use system::SystemInfo;
pub use tally::Tally;
pub use thread::MAX_DEPTH;
pub use unit::UnitKind;

pub(crate) use coverage::Covering;
pub(crate) use folded::ShortCalls;
pub(crate) use labels::{forward_name, message_name, stage_names, wait_name};
pub(crate) use names::clean;
pub(crate) use recorder::{Switch, first_event, percent};
pub(crate) use restored::{Restored, Step, name_before, restored};
pub(crate) use stack::{OpenStack, typed};
pub(crate) use start::starts;
pub(crate) use survey::last_moment;
pub(crate) use unit::{Loops, begins, called_by_the_queue, is_message, is_polling};
pub(crate) use verdicts::{confidence_name, reasons_text, verdict_name};
