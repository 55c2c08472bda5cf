//! Which task or thread a wait is for.

use std::collections::HashMap;

use trace_format::event::WaitKind;
use trace_format::{Recording, Source};

use super::ChainLink;
use crate::facts::concurrency::{ConcurrentWork, Task, Waiting};

/// Maximum number of stages before the one that a thread waits for.
const MAX_STAGES: usize = 32;

/// What a wait is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// Index of the task.
    Task(usize),
    /// Index of the thread.
    Thread(usize),
}

/// Resolves waits.
pub(super) struct Targets<'a> {
    work: &'a ConcurrentWork,
    by_uid: HashMap<u32, usize>,
    /// The thread behind a wait of the hang's chain, by thread and the wait's start.
    chain: HashMap<(usize, u64), usize>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(
        work: &'a ConcurrentWork,
        recording: &Recording<dyn Source + '_>,
        chain: &[ChainLink],
    ) -> Self {
        let threads = recording.threads();
        let by_uid = threads.iter().enumerate().map(|(index, thread)| (thread.uid, index)).collect();
        let thread = |link: &ChainLink| threads.iter().position(|thread| thread.tid == link.tid);
        let links =
            chain.windows(2).filter_map(|pair| Some((pair[0].since, thread(&pair[0])?, thread(&pair[1])?)));
        let chain = links.map(|(since, from, to)| ((from, since), to)).collect();
        Self { work, by_uid, chain }
    }

    /// What a wait is for, if that is known.
    pub(super) fn of(&self, waiting: &Waiting) -> Option<Target> {
        let wait = &waiting.wait;
        let task = matches!(wait.kind, WaitKind::Park | WaitKind::Join)
            .then(|| self.task(wait.lock as u32, waiting.begun))
            .flatten();
        if let Some(task) = task {
            return Some(Target::Task(task));
        }
        // An owner of a monitor has a track of its own.
        let owner =
            (wait.kind == WaitKind::Park && wait.owner != 0).then(|| self.by_uid.get(&wait.owner)).flatten();
        let thread = owner.or_else(|| self.chain.get(&(waiting.thread, waiting.begun))).copied();
        thread.filter(|thread| *thread != waiting.thread).map(Target::Thread)
    }

    /// The thread that the chain names behind a wait for a queued task: it has to go on first.
    pub(super) fn behind(&self, waiting: &Waiting) -> Option<usize> {
        self.chain.get(&(waiting.thread, waiting.begun)).copied().filter(|thread| *thread != waiting.thread)
    }

    /// The task that `object` stood for at a moment, and that was not over; of a stage, what it waits for.
    fn task(&self, object: u32, at: u64) -> Option<usize> {
        let mut object = object;
        for _ in 0..MAX_STAGES {
            let index = self.work.index_of(object)?;
            let task = &self.work.tasks()[index];
            let started = task.run.is_some_and(|run| run.begun <= at);
            if task.is_stage
                && !started
                && let Some((before, _)) = self.work.whole(object)
                && self.work.task_of(before).is_some_and(|before| is_open(before, at))
            {
                object = before;
                continue;
            }
            return is_open(task, at).then_some(index);
        }
        None
    }
}

/// Whether a task had been handed over at a moment, and was not over. Identities are reused: one that was handed over
/// later is another task.
fn is_open(task: &Task, at: u64) -> bool {
    let over = task.run.and_then(|run| run.ended).is_some_and(|ended| ended < at);
    task.submitted.at <= at && !over
}
