//! The tasks that are shown, and the input of their plan.

use std::collections::{HashMap, HashSet};

use super::fate::Fate;
use super::{ChainLink, Mark, MarkKind, RunSlice};
use crate::facts::Facts;
use crate::facts::concurrency::{ConcurrentWork, Posts};
use crate::model::flows::Flows;
use crate::model::sink::ThreadInfo;
use crate::names::Names;

/// The input of a plan.
pub(in crate::model) struct PlanInput<'a> {
    pub(in crate::model) facts: &'a Facts<'a>,
    pub(in crate::model) names: Names<'a>,
    pub(in crate::model) threads: &'a [ThreadInfo],
    pub(in crate::model) flows: &'a Flows,
    /// The chain behind the hang, main's link first.
    pub(in crate::model) chain: &'a [ChainLink],
    /// The last moment of the recording.
    pub(in crate::model) end: u64,
}

/// The tasks that are shown, and where.
pub(super) struct Shown<'a> {
    pub(super) input: &'a PlanInput<'a>,
    pub(super) work: &'a ConcurrentWork,
    pub(super) posts: &'a Posts,
    pub(super) fates: &'a [Fate],
    /// Threads that were started: by whom, when, and the object.
    pub(super) thread_starts: HashSet<(usize, u64, u32)>,
    pub(super) marks: HashMap<usize, Vec<Mark>>,
    pub(super) runs: HashMap<usize, Vec<RunSlice>>,
}

impl Shown<'_> {
    /// Adds an instant to a thread.
    pub(super) fn mark(&mut self, thread: usize, at: u64, kind: MarkKind, flows: Vec<u64>) {
        self.marks.entry(thread).or_default().push(Mark { at, kind, flows });
    }

    /// How long a task was queued as far as is known, ns; `None` if it did not wait in a queue.
    pub(super) fn queued(&self, task: usize) -> Option<u64> {
        let known = self.work.tasks().get(task).filter(|task| !task.is_scheduled && !task.is_stage)?;
        let until = match self.fates[task] {
            Fate::Started { at, .. } => at,
            Fate::Queued => self.input.end,
            Fate::Left(_) | Fate::Unknown => return None,
        };
        Some(until.saturating_sub(known.submitted.at))
    }
}
