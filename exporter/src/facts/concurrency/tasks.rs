//! Tasks, and which thread runs which.
//!
//! The start of an object's own `run` names the task. The body of a lambda does not know the lambda: of the tasks with
//! this body, a queue starts the one first that was submitted first. Which queue's task it is shows in the thread, whose
//! name has a number behind that of its pool. If tasks of several queues remain, none is taken, and the state of all of
//! them is unknown.

mod codes;
mod coroutines;

use std::collections::{HashMap, HashSet};

use trace_format::event::ConcurrencyStep;
use trace_format::{Recording, Source, TextId};

use super::{ConcurrentWork, Run, Step};
pub(crate) use codes::TaskCodes;
use coroutines::Coroutines;
pub(crate) use coroutines::Suspension;

/// The class whose queue its handlers share.
const LOOPER: &str = "android.os.Looper";

/// Where and when a task was handed over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Submission {
    pub(crate) at: u64,
    /// Index of the thread.
    pub(crate) thread: usize,
    /// Method and line of the call; 0 if unknown.
    pub(crate) method: u32,
    pub(crate) line: u16,
}

impl From<&Step> for Submission {
    fn from(step: &Step) -> Self {
        Self { at: step.at, thread: step.thread, method: step.what.method, line: step.what.line }
    }
}

/// How far a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TaskState {
    Queued,
    /// For a later time.
    Scheduled,
    Running,
    /// A coroutine that waits without a thread.
    Suspended,
    Finished,
    /// Its start cannot be distinguished from another task's, or its code is not recorded.
    Unknown,
}

/// A task that was handed over.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Task {
    pub(crate) object: u32,
    /// The object's class.
    pub(crate) class: TextId,
    /// The method that is its code; 0 if unknown.
    pub(crate) method: u32,
    pub(crate) submitted: Submission,
    /// The executor or handler; 0 if unknown.
    pub(crate) queue: u32,
    pub(crate) queue_class: TextId,
    pub(crate) is_scheduled: bool,
    /// It runs when another stage is done, wherever that is.
    pub(crate) is_stage: bool,
    /// Of a coroutine, the last part of it that ran.
    pub(crate) run: Option<Run>,
    pub(crate) is_coroutine: bool,
    /// What its code does, as far as that is known before it runs: bits of
    /// [`Concurrency`](trace_format::event::Concurrency).
    pub(crate) does: u16,
    /// What the coroutine waits for.
    pub(crate) suspension: Option<Suspension>,
    ambiguous: bool,
}

impl Task {
    pub(crate) fn state(&self) -> TaskState {
        match self.run {
            Some(Run { ended: None, .. }) => TaskState::Running,
            Some(_) if self.suspension.is_some() => TaskState::Suspended,
            Some(_) => TaskState::Finished,
            None if self.ambiguous || self.method == 0 => TaskState::Unknown,
            None if self.is_scheduled => TaskState::Scheduled,
            None => TaskState::Queued,
        }
    }
}

/// The name of a thread without its number: the threads of a pool have it in common.
fn group(name: &str) -> &str {
    let group = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // A name that is no more than a number, or without one, is a thread's own.
    if group.is_empty() { name } else { group }
}

#[derive(Debug, Default)]
pub(super) struct TaskIndex {
    /// By submission.
    pub(super) tasks: Vec<Task>,
    /// The last task with this object, and with this future.
    by_object: HashMap<u32, usize>,
    by_future: HashMap<u32, usize>,
    /// What each thread runs, outermost first: the run, and its task if known.
    running: HashMap<usize, Vec<(Run, Option<usize>)>>,
    /// Runs of lambdas that have ended, and were not handed to a queue: those of threads, mostly.
    ended_alone: Vec<Run>,
    /// The queue that a thread takes its tasks from, if that is known.
    queue_of_thread: HashMap<usize, u32>,
    coroutines: Coroutines,
}

/// Builds a [`TaskIndex`] from the steps.
struct Builder<'c> {
    index: TaskIndex,
    so_far: SoFar<'c>,
    codes: &'c TaskCodes,
    recording: &'c Recording<dyn Source + 'c>,
}

/// Facts from the steps so far.
#[derive(Default)]
struct SoFar<'c> {
    /// The code of tasks, by object, and when that was said.
    code: HashMap<u32, (u32, u64)>,
    /// Tasks that have not started, by their code, and by their object.
    waiting: HashMap<u32, Vec<usize>>,
    waiting_objects: HashMap<u32, Vec<usize>>,
    /// The queue of a group of threads.
    queues: HashMap<&'c str, u32>,
    /// Runs of lambdas without a task, by their code: the task of a stage is known after it may have run.
    orphans: HashMap<u32, Vec<Run>>,
    /// What the code of a lambda does, by its method.
    does: HashMap<u32, u16>,
    /// The looper of each handler.
    loopers: HashMap<u32, u32>,
}

impl TaskIndex {
    /// `calls` are the outermost calls of threads, and `steps` the steps, both by time.
    pub(super) fn of(
        steps: &[Step],
        calls: &[Run],
        codes: &TaskCodes,
        recording: &Recording<dyn Source + '_>,
    ) -> Self {
        let mut builder = Builder { index: Self::default(), so_far: SoFar::default(), codes, recording };
        // A method that is the code of a lambda and reports no start is an ordinary one: its calls show it.
        builder.index.coroutines.jobs_of(steps);
        let created = |step: &&Step| step.what.step == ConcurrencyStep::Created && step.what.method != 0;
        let mut unreported: HashSet<u32> =
            steps.iter().filter(created).map(|step| step.what.method).collect();
        unreported.extend(&codes.unreported);
        for step in steps.iter().filter(|step| step.what.step == ConcurrencyStep::Started) {
            unreported.remove(&step.what.method);
        }
        let mut calls = calls.iter().filter(|call| unreported.contains(&call.method)).peekable();
        for step in steps {
            while let Some(call) = calls.next_if(|call| call.begun < step.at) {
                builder.called(call);
            }
            builder.step(step);
        }
        calls.for_each(|call| builder.called(call));
        // A task that ran without being recorded as submitted is its pool's all the same.
        let queues = &builder.so_far.queues;
        let of_thread = |thread: &usize| Some((*thread, *queues.get(builder.group(*thread))?));
        let queue_of_thread = builder.index.running.keys().filter_map(of_thread).collect();
        let alone = builder.so_far.orphans.into_values().flatten().filter(|run| run.ended.is_some());
        Self { queue_of_thread, ended_alone: alone.collect(), ..builder.index }
    }

    /// A run, and its task if known.
    fn with_task(&self, (run, task): &(Run, Option<usize>)) -> (Run, Option<&Task>) {
        (*run, task.and_then(|task| self.tasks.get(task)))
    }
}

impl ConcurrentWork {
    /// All tasks, by submission.
    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks.tasks
    }

    /// The last task that `object` stands for: its future, or the task itself.
    pub(crate) fn task_of(&self, object: u32) -> Option<&Task> {
        self.tasks().get(self.index_of(object)?)
    }

    /// As [`Self::task_of`], as an index among [`Self::tasks`].
    pub(crate) fn index_of(&self, object: u32) -> Option<usize> {
        let TaskIndex { by_future, by_object, .. } = &self.tasks;
        let at = by_future.get(&object).or_else(|| by_object.get(&object))?;
        Some(*at).filter(|_| object != 0)
    }

    /// The threads that run tasks of a queue, the one that began first in front, each with its outermost run.
    pub(crate) fn workers(&self, queue: u32) -> Vec<Run> {
        let of_queue = |(thread, runs): (&usize, &Vec<(Run, Option<usize>)>)| {
            let (run, task) = self.tasks.with_task(runs.first()?);
            let known = task.map(|task| task.queue).filter(|queue| *queue != 0);
            let from = known.or_else(|| self.tasks.queue_of_thread.get(thread).copied());
            (from == Some(queue)).then_some(run)
        };
        let mut workers: Vec<Run> = self.tasks.running.iter().filter_map(of_queue).collect();
        workers.sort_by_key(|run| (run.begun, run.thread));
        workers
    }

    /// What all threads run, outermost, by thread.
    pub(crate) fn running(&self) -> Vec<(Run, Option<&Task>)> {
        let outermost = self.tasks.running.values().filter_map(|runs| runs.first());
        let mut all: Vec<_> = outermost.map(|run| self.tasks.with_task(run)).collect();
        all.sort_by_key(|(run, _)| run.thread);
        all
    }

    /// The task that a thread runs.
    pub(crate) fn running_on(&self, thread: usize) -> Option<(Run, Option<&Task>)> {
        // A library's own task may be around the app's.
        let runs = self.tasks.running.get(&thread)?;
        let run = runs.iter().rfind(|(_, task)| task.is_some()).or(runs.first())?;
        Some(self.tasks.with_task(run))
    }

    /// The task that a thread ran last, and which has ended.
    pub(crate) fn last_on(&self, thread: usize) -> Option<&Task> {
        self.tasks()
            .iter()
            .filter(|task| task.state() == TaskState::Finished)
            .filter(|task| task.run.is_some_and(|run| run.thread == thread))
            .max_by_key(|task| task.run.and_then(|run| run.ended))
    }

    /// The tasks of a queue that no thread has begun, in order. `None` if the start of one of its tasks could not be
    /// distinguished from another's.
    pub(crate) fn queued(&self, queue: u32) -> Option<Vec<&Task>> {
        let of_queue = || self.tasks().iter().filter(|task| task.queue == queue && queue != 0);
        if of_queue().any(|task| task.state() == TaskState::Unknown) {
            return None;
        }
        Some(of_queue().filter(|task| task.state() == TaskState::Queued).collect())
    }

    /// Runs that have ended and belong to no known task, such as those of a thread's own lambda.
    pub(crate) fn ended_alone(&self) -> &[Run] {
        &self.tasks.ended_alone
    }
}

impl<'c> Builder<'c> {
    /// The text of a class.
    fn text(&self, class: TextId) -> &'c str {
        self.recording.texts().get(class).unwrap_or_default()
    }

    /// The name that the threads of a pool have in common.
    fn group(&self, thread: usize) -> &'c str {
        let name = self.recording.threads().get(thread).and_then(|thread| thread.name.as_deref());
        group(name.unwrap_or_default())
    }

    fn step(&mut self, step: &Step) {
        let what = &step.what;
        match what.step {
            ConcurrencyStep::Created => {
                let method = self.codes.canonical(what.method);
                self.so_far.code.insert(what.object, (method, step.at));
                self.so_far.does.insert(method, what.line);
            }
            ConcurrencyStep::Submitted | ConcurrencyStep::Scheduled | ConcurrencyStep::ThreadStarted
                if what.object != 0 =>
            {
                let scheduled = what.step == ConcurrencyStep::Scheduled;
                if what.step != ConcurrencyStep::ThreadStarted && self.hand_over(step, scheduled) {
                    return;
                }
                let method = self.code_of(what.object, what.class);
                self.add(step, (what.object, what.class), method, scheduled, false);
            }
            ConcurrencyStep::Future if what.object != 0 => self.future(step),
            ConcurrencyStep::Started if what.other != 0 => self.resumed(step),
            ConcurrencyStep::Started => self.started(step),
            ConcurrencyStep::Awaited => self.awaited(step),
            ConcurrencyStep::PartOf if self.text(what.other_class) == LOOPER => {
                self.so_far.loopers.insert(what.object, what.other);
            }
            ConcurrencyStep::Put | ConcurrencyStep::Released if what.object != 0 => self.accessed(step),
            ConcurrencyStep::Finished => self.finished(step),
            _ => {}
        }
    }

    /// The method that is an object's code, 0 if unknown.
    fn code_of(&self, object: u32, class: TextId) -> u32 {
        let class = self.text(class);
        match self.so_far.code.get(&object) {
            Some((method, _)) => *method,
            None => self.codes.of_class(class),
        }
    }

    /// Whether the object is the future of a task that no thread has handed over yet: it is handed over now.
    fn hand_over(&mut self, step: &Step, scheduled: bool) -> bool {
        let what = &step.what;
        let Some(at) = self.index.by_future.get(&what.object).copied() else { return false };
        let task = &mut self.index.tasks[at];
        if !task.is_stage || task.run.is_some() {
            return false;
        }
        task.is_stage = false;
        task.is_scheduled = scheduled;
        let queue = self.so_far.loopers.get(&what.other).copied().unwrap_or(what.other);
        (task.queue, task.queue_class) = (queue, what.other_class);
        task.submitted = step.into();
        true
    }

    fn add(
        &mut self,
        step: &Step,
        (object, class): (u32, TextId),
        method: u32,
        scheduled: bool,
        is_stage: bool,
    ) {
        let what = &step.what;
        let at = self.index.tasks.len();
        let (queue, queue_class) = if is_stage || what.step == ConcurrencyStep::ThreadStarted {
            (0, TextId::default())
        } else {
            (what.other, what.other_class)
        };
        let is_coroutine = self.codes.is_coroutine(method);
        let empty = is_coroutine && self.text(queue_class) == coroutines::NO_CONTEXT;
        // Handlers of one looper share its queue.
        let queue = if empty { 0 } else { self.so_far.loopers.get(&queue).copied().unwrap_or(queue) };
        self.index.tasks.push(Task {
            object,
            class,
            method,
            submitted: step.into(),
            queue,
            queue_class,
            is_scheduled: scheduled,
            is_stage,
            run: None,
            is_coroutine,
            does: self.so_far.does.get(&method).copied().unwrap_or(0),
            suspension: None,
            ambiguous: false,
        });
        self.index.by_object.insert(object, at);
        // A future of an earlier task may have had this identity.
        self.index.by_future.remove(&object);
        self.so_far.waiting.entry(method).or_default().push(at);
        self.so_far.waiting_objects.entry(object).or_default().push(at);
    }

    fn future(&mut self, step: &Step) {
        let what = &step.what;
        let known = self.index.by_object.get(&what.other).copied();
        let known =
            known.filter(|at| self.index.tasks[*at].submitted.thread == step.thread && what.other != 0);
        if let Some(at) = known {
            self.index.by_future.insert(what.object, at);
            return;
        }
        // A stage, which no thread submits.
        let method = self.code_of(what.other, what.other_class);
        if what.other == 0 {
            return;
        }
        let created = self.so_far.code.get(&what.other).map_or(step.at, |(_, created)| *created);
        let at = self.index.tasks.len();
        self.add(step, (what.other, what.other_class), method, false, true);
        self.index.by_future.insert(what.object, at);
        let orphans = self.so_far.orphans.get_mut(&method);
        if let Some(orphans) = orphans
            && let Some(first) = orphans.iter().position(|run| run.begun >= created)
        {
            let run = orphans.remove(first);
            self.assign(at, run);
        }
    }

    /// The task at `at` is what `run` runs.
    fn assign(&mut self, at: usize, run: Run) {
        let task = &mut self.index.tasks[at];
        task.run = Some(run);
        if task.method == 0 {
            task.method = run.method;
        }
        let (method, object) = (task.method, task.object);
        // The threads of Kotlin's dispatchers serve several of them.
        let queue = if task.is_coroutine { 0 } else { task.queue };
        let waiting = [method, 0].map(|method| (method, true)).into_iter().chain([(object, false)]);
        for (key, by_method) in waiting {
            let lists = if by_method { &mut self.so_far.waiting } else { &mut self.so_far.waiting_objects };
            if let Some(list) = lists.get_mut(&key) {
                list.retain(|known| *known != at);
            }
        }
        if queue != 0 {
            self.so_far.queues.insert(self.group(run.thread), queue);
        }
        if let Some(running) = self.index.running.get_mut(&run.thread)
            && let Some(open) =
                running.iter_mut().rfind(|(open, _)| open.begun == run.begun && open.method == run.method)
        {
            open.1 = Some(at);
        }
    }

    /// The run that a step begins.
    fn run_of(&self, step: &Step) -> Run {
        let method = self.codes.canonical(step.what.method);
        Run { thread: step.thread, begun: step.at, ended: None, method, does: step.what.line }
    }

    fn started(&mut self, step: &Step) {
        let run = self.run_of(step);
        self.index.running.entry(step.thread).or_default().push((run, None));
        self.begin(run, step.what.object);
    }

    fn begin(&mut self, run: Run, object: u32) {
        if object != 0 {
            // Of a task that was submitted again and again, the first that waits.
            let first = self.so_far.waiting_objects.get(&object).and_then(|waiting| waiting.first()).copied();
            if let Some(at) = first {
                self.assign(at, run);
            }
            return;
        }
        let waiting = self.so_far.waiting.get(&run.method).cloned().unwrap_or_default();
        let queue_of = |at: &usize| self.index.tasks[*at].queue;
        let mut queues: Vec<u32> = waiting.iter().map(queue_of).collect();
        queues.dedup();
        let first = match queues[..] {
            [] => None,
            [_] => waiting.first().copied(),
            _ => {
                let queue = self.so_far.queues.get(self.group(run.thread)).copied();
                let of_queue =
                    queue.and_then(|queue| waiting.iter().copied().find(|at| queue_of(at) == queue));
                if of_queue.is_none() {
                    for at in &waiting {
                        self.index.tasks[*at].ambiguous = true;
                    }
                }
                of_queue
            }
        };
        match first {
            Some(at) => self.assign(at, run),
            None if waiting.is_empty() => self.so_far.orphans.entry(run.method).or_default().push(run),
            None => {}
        }
    }

    fn finished(&mut self, step: &Step) {
        let method = self.codes.canonical(step.what.method);
        let Some(running) = self.index.running.get_mut(&step.thread) else { return };
        let Some(at) = running.iter().rposition(|(run, _)| run.method == method) else { return };
        let ended: Vec<(Run, Option<usize>)> = running.drain(at..).collect();
        if running.is_empty() {
            self.index.running.remove(&step.thread);
        }
        self.suspended(step, ended.first().and_then(|(_, task)| *task));
        for (run, task) in ended {
            if let Some(run) = task.and_then(|task| self.index.tasks.get_mut(task)?.run.as_mut()) {
                run.ended = Some(step.at);
            } else if let Some(orphans) = self.so_far.orphans.get_mut(&run.method)
                && let Some(orphan) = orphans.iter_mut().rfind(|orphan| **orphan == run)
            {
                orphan.ended = Some(step.at);
            }
        }
    }

    /// An outermost call of a method that may be a task's code.
    fn called(&mut self, call: &Run) {
        let method = self.codes.canonical(call.method);
        let does = self.so_far.does.get(&method).copied().unwrap_or(0);
        let run = Run { method, does, ..*call };
        if call.ended.is_none() {
            self.index.running.entry(call.thread).or_default().push((run, None));
        }
        self.begin(run, 0);
    }
}
