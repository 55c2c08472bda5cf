//! The arrows of waits: from a wait to the task or thread that it is for, and from there to what that waits for.

use std::collections::{HashMap, HashSet};

use trace_format::event::WaitKind;

use super::fate::Fate;
use super::queues::Queues;
use super::shown::Shown;
use super::targets::{Target, Targets};
use super::{MarkKind, WaitSlice};
use crate::facts::concurrency::Waiting;

/// Maximum number of threads that an arrow passes.
const MAX_HOPS: usize = 32;

/// Places the arrows of waits.
pub(super) struct Hops<'p, 'i> {
    plan: &'p mut Shown<'i>,
    waits: &'p [(&'p Waiting, Target)],
    targets: &'p Targets<'p>,
    queues: &'p mut Queues,
    /// By thread, the waits of that thread by time.
    of_thread: HashMap<usize, Vec<usize>>,
    slices: Vec<WaitSlice>,
}

impl<'p, 'i> Hops<'p, 'i> {
    pub(super) fn new(
        plan: &'p mut Shown<'i>,
        waits: &'p [(&'p Waiting, Target)],
        targets: &'p Targets<'p>,
        queues: &'p mut Queues,
    ) -> Self {
        let mut of_thread: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, (waiting, _)) in waits.iter().enumerate() {
            of_thread.entry(waiting.thread).or_default().push(at);
        }
        let slices = vec![WaitSlice::default(); waits.len()];
        Self { plan, waits, targets, queues, of_thread, slices }
    }

    /// Adds the instants and arrows to the plan; returns what is added to the slices of waits.
    pub(super) fn run(mut self) -> HashMap<(usize, u64), WaitSlice> {
        (0..self.waits.len()).for_each(|at| self.wait(at));
        let keyed = self.waits.iter().zip(self.slices);
        keyed.map(|((waiting, _), slice)| ((waiting.thread, waiting.number), slice)).collect()
    }

    fn wait(&mut self, index: usize) {
        let (waiting, target) = self.waits[index];
        let flow = self.plan.input.flows.next();
        let kind = match target {
            Target::Task(task) => MarkKind::WaitsFor(task),
            Target::Thread(thread) => {
                MarkKind::WaitsForThread { thread, monitor: waiting.wait.kind == WaitKind::Monitor }
            }
        };
        self.plan.mark(waiting.thread, waiting.begun, kind, vec![flow]);
        self.slices[index].flows.push(flow);
        if let Target::Task(task) = target {
            self.slices[index].task = Some((task, self.state(task, waiting.begun)));
            self.slices[index].place = self.place(task, waiting.begun);
        }
        let mut passed = HashSet::from([waiting.thread]);
        let mut at = waiting.begun;
        let (mut by, mut next) = (index, Some(target));
        while let Some(target) = next.take().filter(|_| passed.len() <= MAX_HOPS) {
            at = at.saturating_add(1);
            let Some((thread, at_thread)) = self.reach(by, target, by == index, at, flow) else { break };
            at = at_thread;
            if !passed.insert(thread) {
                break;
            }
            // What that thread waits for at the same time; a wait that begins later has an arrow of its own.
            match self.open_wait(thread, at) {
                Some(other) => (by, next) = (other, Some(self.waits[other].1)),
                None => self.lead_on(index, thread, at, flow),
            }
        }
    }

    /// Leads an arrow to the target of the wait `by`: returns the thread that it reached, and when. Only the `first` wait's arrow
    /// leads on to a thread of the queue: others that wait at that time have arrows of their own.
    fn reach(&mut self, by: usize, target: Target, first: bool, at: u64, flow: u64) -> Option<(usize, u64)> {
        let waiter = self.waits[by].0;
        let kind = MarkKind::AwaitedBy(waiter.thread);
        let task = match target {
            Target::Thread(thread) => {
                self.plan.mark(thread, at, kind, vec![flow]);
                return Some((thread, at));
            }
            Target::Task(task) => task,
        };
        let queue = self.plan.work.tasks()[task].queue;
        match self.plan.fates[task] {
            Fate::Started { at: started, thread } if started < at => {
                self.plan.mark(thread, at, kind, vec![flow]);
                Some((thread, at))
            }
            Fate::Started { at: started, thread } => {
                self.queues.awaited(queue, task, (at, waiter.thread, flow));
                let mut runs = self.plan.runs.get_mut(&thread).into_iter().flatten();
                runs.find(|run| run.task == task).into_iter().for_each(|run| run.flows.push(flow));
                Some((thread, started))
            }
            _ => {
                self.queues.awaited(queue, task, (at, waiter.thread, flow));
                let thread = self
                    .targets
                    .behind(waiter)
                    .or_else(|| first.then(|| self.worker(waiter, task)).flatten())?;
                let at = at.saturating_add(1);
                self.plan.mark(thread, at, MarkKind::Before(task), vec![flow]);
                Some((thread, at))
            }
        }
    }

    /// A thread of the queue in which a task still is at the end, other than the waiter.
    fn worker(&self, waiter: &Waiting, task: usize) -> Option<usize> {
        let queue = self.plan.work.tasks()[task].queue;
        if waiter.ended.is_some() || self.plan.fates[task] != Fate::Queued {
            return None;
        }
        let workers = self.plan.work.workers(queue);
        workers.iter().map(|run| run.thread).find(|thread| *thread != waiter.thread)
    }

    /// The innermost wait with a known target that a thread is in at a moment.
    fn open_wait(&self, thread: usize, at: u64) -> Option<usize> {
        let waits = self.of_thread.get(&thread)?;
        let before = waits.partition_point(|wait| self.waits[*wait].0.begun <= at);
        waits[..before].iter().rev().take(MAX_HOPS).copied().find(|wait| self.waits[*wait].0.is_open_at(at))
    }

    /// Leads an arrow on to the longest wait in which the thread is next, while the first wait lasts.
    fn lead_on(&mut self, index: usize, thread: usize, at: u64, flow: u64) {
        let until = self.waits[index].0.ended.unwrap_or(u64::MAX);
        let Some(waits) = self.of_thread.get(&thread) else { return };
        let from = waits.partition_point(|wait| self.waits[*wait].0.begun <= at);
        let later = waits[from..].iter().take_while(|wait| self.waits[**wait].0.begun < until);
        let length = |wait: &usize| {
            let waiting = self.waits[*wait].0;
            waiting.ended.unwrap_or(u64::MAX).saturating_sub(waiting.begun)
        };
        let longest = later.copied().max_by_key(|wait| (length(wait), std::cmp::Reverse(*wait)));
        if let Some(longest) = longest.filter(|longest| *longest != index) {
            self.slices[longest].flows.push(flow);
        }
    }

    /// The state of a task at a moment at which it was not over.
    fn state(&self, task: usize, at: u64) -> &'static str {
        let known = &self.plan.work.tasks()[task];
        match self.plan.fates[task] {
            Fate::Started { at: started, .. } if started <= at => "running",
            _ if known.is_stage => "waiting",
            _ if known.is_scheduled => "scheduled",
            Fate::Started { .. } | Fate::Queued => "queued",
            Fate::Left(_) | Fate::Unknown => "unknown",
        }
    }

    fn place(&self, task: usize, at: u64) -> Option<(u64, u64)> {
        (self.state(task, at) == "queued").then(|| self.queues.place(self.plan.fates, task, at)).flatten()
    }
}
