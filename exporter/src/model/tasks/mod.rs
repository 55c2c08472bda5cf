//! What the steps of concurrent work add to the trace: where tasks were handed over, how long they were queued, who ran
//! them, and which task or thread a wait is for.
//!
//! ```text
//! submits Feed.load ──> slice on the queue's track ──> the call in which it runs     (an arrow for each task)
//! wait ─> waits for Feed.load ──> awaited by main, on the thread or queue that has the task   (one for each wait)
//! ```
//! Viewers show the arrows that lead from a selected slice, and those that lead on from there. So the arrow of a wait
//! passes through its slice, and goes on to what the awaited thread itself waits for: a chain can be followed from its
//! first wait. The instants of a chain are 1 ns apart, since arrows run by time.

mod fate;
mod hops;
mod pass;
mod plan;
mod queues;
mod shown;
mod targets;
mod text;
mod write;

use std::collections::HashMap;

use crate::facts::concurrency::{ConcurrentWork, Posted};
pub(super) use pass::{PostedBy, Upcoming, WaitArgs};
use queues::Queue;
pub(super) use shown::PlanInput;
pub(super) use write::queue_tracks;

/// Maximum number of tasks with arrows and slices in queues per process: those that others wait for, then those that were
/// queued for longest.
const MAX_TASKS: usize = 4096;
/// Maximum number of waits with arrows per process, the longest ones.
const MAX_WAITS: usize = 4096;
/// A frame at 60 Hz, ns: a task that was queued for less delayed no frame. It has no slice in its queue, unless another
/// thread waits for it.
const MIN_QUEUED: u64 = 16_666_667;

/// A link of the chain behind a hang: the recorded tid of a thread, and since when it has been in what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainLink {
    /// The tid as recorded.
    pub tid: u32,
    /// BOOTTIME ns.
    pub since: u64,
}

/// What an instant says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MarkKind {
    /// The thread hands a task over: what it does, and the index of the task.
    HandsOver(&'static str, usize),
    /// The thread begins to run a task, in no recorded call.
    Runs(usize),
    /// The thread starts to wait for a task.
    WaitsFor(usize),
    /// The thread starts to wait for another thread. A contended monitor is named as Perfetto expects it.
    WaitsForThread { thread: usize, monitor: bool },
    /// Another thread waits for this one, or for the task here.
    AwaitedBy(usize),
    /// A task waits in its queue while this thread of the queue is busy.
    Before(usize),
}

/// An instant on a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mark {
    at: u64,
    kind: MarkKind,
    flows: Vec<u64>,
}

/// A call in which a task runs.
#[derive(Clone, PartialEq, Eq, Debug)]
struct RunSlice {
    /// When it was entered.
    entered: u64,
    /// Its method; `None` for the outermost call of that moment.
    method: Option<u32>,
    task: usize,
    flows: Vec<u64>,
}

/// What is added to a wait's slice.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct WaitSlice {
    /// The task that it is for, with its state when the wait began.
    task: Option<(usize, &'static str)>,
    /// The task's place in its queue when the wait began, from 1, and the number of tasks in it.
    place: Option<(u64, u64)>,
    flows: Vec<u64>,
}

/// Counts of what exceeded a limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct LeftOut {
    tasks: u64,
    waits: u64,
    queues: u64,
}

/// What the steps of a recording add to its trace.
#[derive(Debug, Default)]
pub(crate) struct TaskPlan {
    work: ConcurrentWork,
    /// By thread and time.
    marks: HashMap<usize, Vec<Mark>>,
    runs: HashMap<usize, Vec<RunSlice>>,
    /// By thread and the wait's number.
    waits: HashMap<(usize, u64), WaitSlice>,
    /// By thread and the message's number: its post, and the arrow from there.
    messages: HashMap<(usize, u64), (Posted, Option<u64>)>,
    /// The first moment at which each task is known to run, if it is.
    started: HashMap<usize, u64>,
    /// Names of executors and handlers, by identity.
    labels: HashMap<u32, String>,
    queues: Vec<Queue>,
    left_out: LeftOut,
}
