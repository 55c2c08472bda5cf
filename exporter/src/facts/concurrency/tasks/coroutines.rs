//! Coroutines: tasks that run in parts, and wait without a thread between them.
//!
//! The body that is handed over is a template: what runs is another object of its class, which the recording links to its
//! job, or to the coroutine that called it, by what it resumes at its end. A body without a job, such as that of
//! `withContext`, is found by its class, if only one of this class waits.

use std::collections::{HashMap, HashSet};

use trace_format::TextId;
use trace_format::event::{Concurrency, ConcurrencyStep};

use super::{Builder, ConcurrentWork, Step};

/// Class of a context that names no dispatcher.
pub(super) const NO_CONTEXT: &str = "kotlin.coroutines.EmptyCoroutineContext";
/// Packages of classes that are no continuation of the app's: Kotlin's library has its own.
const LIBRARY: &str = "kotlinx.coroutines.";

/// What a coroutine waits for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Suspension {
    pub(crate) at: u64,
    /// 0 for a time.
    pub(crate) object: u32,
    pub(crate) class: TextId,
    /// Whether the recording shows for what.
    pub(crate) is_known: bool,
}

/// How a task used an object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Access {
    pub(crate) at: u64,
    pub(crate) object: u32,
    /// Index of the task, if known.
    pub(crate) task: Option<usize>,
    /// `Awaited`, `Released` or `Put`.
    pub(crate) step: ConcurrencyStep,
}

/// The coroutines of a recording.
#[derive(Debug, Default)]
pub(super) struct Coroutines {
    /// The bodies whose job an object was, and when that was recorded, by time.
    jobs: HashMap<u32, Vec<(u64, u32)>>,
    /// Bodies that have a job.
    with_job: HashSet<u32>,
    /// What each continuation resumes, and the task that it is a part of.
    continuations: HashMap<u32, (u32, Option<usize>)>,
    /// The last call on each thread that suspended its coroutine, until the coroutine's part ends.
    awaited: HashMap<usize, Suspension>,
    accesses: Vec<Access>,
    /// For each dispatcher, the thread that ran its tasks; none if several did.
    only_threads: HashMap<u32, Option<usize>>,
    /// When a part of an unknown coroutine began last.
    unknown_part: u64,
}

impl Coroutines {
    /// Reads which job is whose.
    pub(super) fn jobs_of(&mut self, steps: &[Step]) {
        for step in steps.iter().filter(|step| step.what.step == ConcurrencyStep::Future) {
            self.jobs.entry(step.what.object).or_default().push((step.at, step.what.other));
            self.with_job.insert(step.what.other);
        }
    }

    /// The body whose job this object is at a moment. The job is recorded when the body may run already.
    fn body_of(&self, job: u32, at: u64) -> Option<u32> {
        let jobs = self.jobs.get(&job)?;
        let after = jobs.partition_point(|(recorded, _)| *recorded <= at);
        let before = after.checked_sub(1).and_then(|before| jobs.get(before));
        before.or_else(|| jobs.get(after)).map(|(_, body)| *body)
    }
}

impl ConcurrentWork {
    /// How tasks used an object: coroutines change their threads.
    pub(crate) fn accesses(&self, object: u32) -> impl Iterator<Item = &Access> + Clone {
        self.tasks.coroutines.accesses.iter().filter(move |access| access.object == object)
    }

    /// The thread that ran all coroutines of a dispatcher so far.
    pub(crate) fn only_thread(&self, dispatcher: u32) -> Option<usize> {
        self.tasks.coroutines.only_threads.get(&dispatcher).copied().flatten()
    }

    /// Whether it is known that a coroutine has not gone on since it was suspended.
    pub(crate) fn stays_suspended(&self, suspension: &Suspension) -> bool {
        suspension.is_known && self.tasks.coroutines.unknown_part <= suspension.at
    }
}

impl Builder<'_> {
    /// A part of a coroutine begins.
    pub(super) fn resumed(&mut self, step: &Step) {
        let what = &step.what;
        let run = self.run_of(step);
        let found = self.task_of_part(step, run.method);
        self.index.running.entry(step.thread).or_default().push((run, None));
        self.index.coroutines.continuations.insert(what.object, (what.other, found));
        self.index.coroutines.awaited.remove(&step.thread);
        let Some(at) = found else {
            self.index.coroutines.unknown_part = step.at;
            return;
        };
        // The code that names the task stays that of its body.
        let body = self.index.tasks[at].method;
        self.assign(at, run);
        let task = &mut self.index.tasks[at];
        (task.suspension, task.method) = (None, if body == 0 { run.method } else { body });
        if task.queue != 0 {
            let only = self.index.coroutines.only_threads.entry(task.queue).or_insert(Some(step.thread));
            *only = only.filter(|thread| *thread == step.thread);
        }
    }

    fn task_of_part(&mut self, step: &Step, method: u32) -> Option<usize> {
        let what = &step.what;
        let coroutines = &self.index.coroutines;
        let same = |(completion, task): &(u32, Option<usize>)| task.filter(|_| *completion == what.other);
        if let Some(task) = coroutines.continuations.get(&what.object).and_then(same) {
            return Some(task);
        }
        if let Some(body) = coroutines.body_of(what.other, step.at)
            && let Some(at) = self.index.by_object.get(&body)
            && self.index.tasks[*at].method == method
        {
            return Some(*at);
        }
        // A continuation of the app's is a function that a coroutine called.
        if !self.text(what.other_class).starts_with(LIBRARY) {
            let caller = coroutines.continuations.get(&what.other).and_then(|(_, task)| *task);
            let around = || self.index.running.get(&step.thread)?.last()?.1;
            return caller.or_else(around).filter(|at| self.index.tasks[*at].is_coroutine);
        }
        let waiting = self.so_far.waiting.get(&method)?;
        let mut waiting =
            waiting.iter().filter(|at| !coroutines.with_job.contains(&self.index.tasks[**at].object));
        match (waiting.next().copied(), waiting.next()) {
            (first, None) => first,
            _ => {
                for at in self.so_far.waiting.get(&method)? {
                    self.index.tasks[*at].ambiguous = true;
                }
                None
            }
        }
    }

    /// A coroutine called what may suspend it, and the call has returned.
    pub(super) fn awaited(&mut self, step: &Step) {
        let what = &step.what;
        if self.text(what.other_class) == Concurrency::SUSPENDED {
            let suspension =
                Suspension { at: step.at, object: what.object, class: what.class, is_known: true };
            self.index.coroutines.awaited.insert(step.thread, suspension);
        } else {
            self.index.coroutines.awaited.remove(&step.thread);
        }
        self.accessed(step);
    }

    /// Notes which task used an object.
    pub(super) fn accessed(&mut self, step: &Step) {
        let running = self.index.running.get(&step.thread).and_then(|runs| runs.last());
        let task = running.and_then(|(_, task)| *task);
        self.index.coroutines.accesses.push(Access {
            at: step.at,
            object: step.what.object,
            task,
            step: step.what.step,
        });
    }

    /// The part that `task` is known to be has ended: suspended, or at its end.
    pub(super) fn suspended(&mut self, step: &Step, task: Option<usize>) {
        let awaited = self.index.coroutines.awaited.remove(&step.thread);
        if self.text(step.what.other_class) != Concurrency::SUSPENDED {
            return;
        }
        let unknown = Suspension { at: step.at, object: 0, class: TextId::default(), is_known: false };
        if let Some(task) = task.and_then(|task| self.index.tasks.get_mut(task)) {
            task.suspension = Some(awaited.unwrap_or(unknown));
        }
    }
}
