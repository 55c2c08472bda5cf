//! Decides which tasks, waits and queues are shown, and where their arrows pass.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use trace_format::ReadError;

use super::fate::{Fate, fates};
use super::hops::Hops;
use super::queues::{Queues, Row};
use super::shown::{PlanInput, Shown};
use super::targets::{Target, Targets};
use super::{LeftOut, MAX_TASKS, MAX_WAITS, MIN_QUEUED, MarkKind, RunSlice, TaskPlan};
use crate::facts::concurrency::{ConcurrentWork, TaskCodes, Waiting};

impl TaskPlan {
    /// Reads all threads once more; call it only if the recording has steps.
    pub(in crate::model) fn of(input: &PlanInput<'_>) -> Result<Self, ReadError> {
        let mut codes = TaskCodes::default();
        for (id, method) in input.names.all() {
            codes.add(id, method.class, method.method);
        }
        let work = ConcurrentWork::of(input.facts, &codes, input.end)?;
        if work.is_empty() {
            return Ok(Self::default());
        }
        let texts = input.facts.recording.texts();
        let posts = work.posts(|text| texts.get(text).unwrap_or_default());
        let targets = Targets::new(&work, input.facts.recording, input.chain);
        let mut waits: Vec<(&Waiting, Target)> =
            work.waits().filter_map(|waiting| Some((waiting, targets.of(waiting)?))).collect();
        let duration = |waiting: &Waiting| waiting.ended.unwrap_or(input.end).saturating_sub(waiting.begun);
        waits.sort_by_key(|(waiting, _)| (Reverse(duration(waiting)), waiting.thread, waiting.number));
        let more_waits = waits.len().saturating_sub(MAX_WAITS);
        waits.truncate(MAX_WAITS);
        waits.sort_by_key(|(waiting, _)| (waiting.begun, waiting.thread, waiting.number));

        let fates = fates(&work, &posts);
        let thread_starts = work.started_threads().map(|step| (step.thread, step.at, step.what.object));
        let mut plan = Shown {
            input,
            work: &work,
            posts: &posts,
            fates: &fates,
            thread_starts: thread_starts.collect(),
            marks: HashMap::new(),
            runs: HashMap::new(),
        };
        let (shown, more_tasks) = plan.shown(&waits);
        let mut queues = Queues::of(&plan, &shown);
        let mut messages = HashMap::new();
        let mut arrows = HashMap::new();
        for (thread, number, posted) in posts.all() {
            let arrow = (posted.exact && shown.contains(&posted.task)).then(|| input.flows.next());
            arrows.extend(arrow.map(|arrow| (posted.task, arrow)));
            messages.insert((thread, number), (posted, arrow));
        }
        let mut in_order: Vec<usize> = shown.iter().copied().collect();
        in_order.sort_unstable();
        for task in in_order {
            plan.show(task, arrows.get(&task).copied(), &mut queues);
        }
        let wait_slices = Hops::new(&mut plan, &waits, &targets, &mut queues).run();
        let Shown { mut marks, mut runs, .. } = plan;
        marks.values_mut().for_each(|marks| marks.sort_by_key(|mark| mark.at));
        runs.values_mut().for_each(|runs| runs.sort_by_key(|run| run.entered));
        let started = fates.iter().enumerate().filter_map(|(task, fate)| match fate {
            Fate::Started { at, .. } => Some((task, *at)),
            _ => None,
        });
        let started = started.filter(|(task, _)| shown.contains(task)).collect();
        let (queues, labels, more_queues) = queues.finish();
        let left_out = LeftOut { tasks: more_tasks, waits: more_waits as u64, queues: more_queues };
        Ok(Self { marks, runs, waits: wait_slices, messages, started, labels, queues, left_out, work })
    }
}

impl Shown<'_> {
    /// Which tasks are shown, and how many are not.
    fn shown(&self, waits: &[(&Waiting, Target)]) -> (HashSet<usize>, u64) {
        let awaited = waits.iter().filter_map(|(_, target)| match target {
            Target::Task(task) => Some(*task),
            Target::Thread(_) => None,
        });
        let awaited: HashSet<usize> = awaited.collect();
        let mut tasks: Vec<usize> = (0..self.work.tasks().len()).collect();
        tasks.sort_by_cached_key(|task| {
            (!awaited.contains(task), Reverse(self.queued(*task).unwrap_or(0)), *task)
        });
        let more = tasks.len().saturating_sub(MAX_TASKS);
        tasks.truncate(MAX_TASKS);
        (tasks.into_iter().collect(), more as u64)
    }

    /// What a thread does when it hands a task over.
    fn verb(&self, index: usize) -> &'static str {
        let task = &self.work.tasks()[index];
        if task.is_stage {
            "adds stage"
        } else if self.thread_starts.contains(&(task.submitted.thread, task.submitted.at, task.object)) {
            "starts thread"
        } else if task.is_scheduled {
            "schedules"
        } else {
            "submits"
        }
    }

    /// Shows a task: where it was handed over, its time in the queue, and where it runs. `message` is the arrow to its
    /// message, if it is one's.
    fn show(&mut self, index: usize, message: Option<u64>, queues: &mut Queues) {
        let task = &self.work.tasks()[index];
        let fate = self.fates[index];
        let long = self.queued(index).is_some_and(|queued| queued >= MIN_QUEUED || fate == Fate::Queued);
        let has_row = long && task.queue != 0 && queues.is_shown(task.queue);
        // A handler's task runs in its message, which has the arrow.
        let runs = match fate {
            Fate::Started { thread, .. } if self.posts.thread(task.queue).is_none() => Some(thread),
            _ => None,
        };
        let arrow = message.or_else(|| (has_row || runs.is_some()).then(|| self.input.flows.next()));
        let flows: Vec<u64> = arrow.into_iter().collect();
        let hands_over = MarkKind::HandsOver(self.verb(index), index);
        self.mark(task.submitted.thread, task.submitted.at, hands_over, flows.clone());
        if has_row {
            let (end, incomplete) = match fate {
                Fate::Started { at, .. } => (at, false),
                _ => (self.input.end, true),
            };
            let (begin, flows) = (task.submitted.at, flows.clone());
            let row = Row { task: index, begin, end: end.max(begin), incomplete, flows, marks: Vec::new() };
            queues.add(task.queue, row);
        }
        let (Some(thread), Some(run)) = (runs, task.run) else { return };
        let (entered, method) = match self.work.entered(&run) {
            Some((entered, method)) => (entered, Some(method)),
            None if self.work.is_step(&run) => {
                return self.mark(thread, run.begun, MarkKind::Runs(index), flows);
            }
            None => (run.begun, None),
        };
        self.runs.entry(thread).or_default().push(RunSlice { entered, method, task: index, flows });
    }
}
