//! Converts a recording to balanced slices.
//!
//! [`stream`] takes each thread's steps from [`crate::facts`], pairs starts with ends (`thread`) and passes the
//! result to a [`Sink`] in file order: a process, its tracks one after another, each track's events by time.
//! What a name needs from elsewhere (the end of the recording, what a lock's owner was doing) is determined
//! before, from the facts and by `owners`. Memory does not grow with the number of events.

mod categories;
mod dumped_thread;
mod filter;
mod flows;
mod folded;
mod frames;
mod identity;
mod incident_track;
mod labels;
mod late_tracks;
mod locks;
mod log_form;
mod measured_stages;
mod message_list;
mod native_stacks;
mod owners;
mod recorder_track;
mod sink;
mod snapshot;
mod stacks;
mod start_split;
mod startup;
mod stream;
mod system_counters;
mod tasks;
mod thread;
mod trace_answer;
mod typed;

pub use crate::names::Names;
pub use crate::tally::Tally;
pub(crate) use categories::ALL as CATEGORIES;
pub(crate) use filter::is_called;
pub use filter::{Filter, Selection};
pub use sink::{
    AnrRow, Arg, Cut, FrameRow, Jank, Lane, Level, LogLine, LogSource, Name, NativeCode, ProcessInfo, Sink,
    StackFrame, StackRow, ThreadInfo, ThreadState, Track, Unit, Value,
};
pub(crate) use sink::{SYSTEM_COUNTER, SYSTEM_SERVER_PID, counter_group};
pub use start_split::{StartPart, StartPartKind, StartSplit};
pub use stream::{FindAnswer, Input, stream};
pub(crate) use stream::{Streamed, first_moment, streamed};
pub use tasks::ChainLink;
pub use thread::MAX_DEPTH;
pub use trace_answer::Diagnosis;

pub(crate) use folded::ShortCalls;
pub(crate) use labels::{forward_name, message_name, wait_name};
pub(crate) use start_split::{owner, start_split};
