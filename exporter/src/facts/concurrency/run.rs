//! Times in which threads run tasks, or may.

/// The time in which a thread runs a task, or is in an outermost call that may be one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Run {
    /// Index of the thread.
    pub(crate) thread: usize,
    pub(crate) begun: u64,
    pub(crate) ended: Option<u64>,
    /// The method that is the task's code.
    pub(crate) method: u32,
    /// What this code does: bits of [`Concurrency`](trace_format::event::Concurrency).
    pub(crate) does: u16,
}
