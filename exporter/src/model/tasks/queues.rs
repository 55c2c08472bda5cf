//! Executors and handlers: their names, their queued tasks, and how long their queues were.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use answers::text::clean;

use super::fate::Fate;
use super::shown::Shown;
use super::text::{pool, thread_name};
use crate::words::short_class;

/// Maximum number of executors and handlers with tracks per process: those whose tasks were queued for longest in total.
const MAX_QUEUES: usize = 32;
/// Maximum number of tasks in front of one whose place in the queue is counted.
const MAX_PLACE: usize = 4096;

/// The time that a task was queued.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) task: usize,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) incomplete: bool,
    pub(super) flows: Vec<u64>,
    /// Threads that started to wait for it: when, which, and the arrow.
    pub(super) marks: Vec<(u64, usize, u64)>,
}

/// An executor or a handler.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Queue {
    /// `pool-1 (ThreadPoolExecutor)`.
    pub(super) label: String,
    pub(super) rows: Vec<Row>,
    /// The number of queued tasks from a moment on.
    pub(super) lengths: Vec<(u64, u64)>,
    /// How long the task that started last was queued, ns, from a moment on.
    pub(super) delays: Vec<(u64, u64)>,
    /// Number of tasks of which the recording does not show whether they started.
    pub(super) unknown: u64,
}

/// All queues of a recording.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// The tasks of each queue by submission.
    tasks: HashMap<u32, Vec<usize>>,
    /// The place of a task among those of its queue, with the queue.
    places: HashMap<usize, (u32, usize)>,
    labels: HashMap<u32, String>,
    shown: HashMap<u32, Queue>,
    order: Vec<u32>,
    more: u64,
}

impl Queues {
    /// Finds the queues, and names those of the tasks `shown`.
    pub(super) fn of(plan: &Shown<'_>, shown: &HashSet<usize>) -> Self {
        let all = plan.work.tasks();
        let mut queues = Self::default();
        for (index, task) in all.iter().enumerate().filter(|(_, task)| task.queue != 0 && !task.is_stage) {
            queues.tasks.entry(task.queue).or_default().push(index);
        }
        for (queue, tasks) in &mut queues.tasks {
            tasks.sort_by_key(|task| (all[*task].submitted.at, *task));
            for (place, task) in tasks.iter().enumerate().filter(|(_, task)| shown.contains(task)) {
                queues.places.insert(*task, (*queue, place));
            }
        }
        let total = |queue: &u32| {
            let queued = queues.tasks[queue].iter().filter_map(|task| plan.queued(*task));
            queued.fold(0_u64, u64::saturating_add)
        };
        let mut order: Vec<u32> = queues.tasks.keys().copied().collect();
        order.sort_by_cached_key(|queue| (Reverse(total(queue)), *queue));
        let named: HashSet<u32> = shown.iter().map(|task| all[*task].queue).collect();
        let mut taken = HashSet::new();
        for (rank, queue) in order.iter().enumerate() {
            let is_shown = rank < MAX_QUEUES;
            if !is_shown && !named.contains(queue) {
                continue;
            }
            let mut label = label(plan, *queue, &queues.tasks[queue]);
            if !taken.insert(label.clone()) {
                // Tracks of one name would be displayed as one.
                label = format!("{label} 0x{queue:x}");
            }
            if is_shown {
                let counted = counted(plan, &queues.tasks[queue]);
                queues.shown.insert(*queue, Queue { label: label.clone(), ..counted });
            }
            queues.labels.insert(*queue, label);
        }
        queues.more = order.len().saturating_sub(MAX_QUEUES) as u64;
        order.truncate(MAX_QUEUES);
        queues.order = order;
        queues
    }

    /// Whether the queue has a track.
    pub(super) fn is_shown(&self, queue: u32) -> bool {
        self.shown.contains_key(&queue)
    }

    pub(super) fn add(&mut self, queue: u32, row: Row) {
        if let Some(queue) = self.shown.get_mut(&queue) {
            queue.rows.push(row);
        }
    }

    /// Notes that a thread starts to wait for a queued task: when, which, and the arrow.
    pub(super) fn awaited(&mut self, queue: u32, task: usize, mark: (u64, usize, u64)) {
        let Some(queue) = self.shown.get_mut(&queue) else { return };
        let row = queue.rows.iter_mut().find(|row| row.task == task);
        if let Some(row) = row.filter(|row| row.begin <= mark.0 && mark.0 <= row.end) {
            row.marks.push(mark);
        }
    }

    /// A task's place in its queue at a moment, from 1, and how many tasks the queue had.
    pub(super) fn place(&self, fates: &[Fate], task: usize, at: u64) -> Option<(u64, u64)> {
        let (queue, place) = self.places.get(&task).filter(|(_, place)| *place < MAX_PLACE)?;
        let tasks = self.tasks.get(queue)?;
        let waits = |other: &usize| match fates[*other] {
            Fate::Started { at: started, .. } | Fate::Left(started) => started > at,
            Fate::Queued => true,
            Fate::Unknown => false,
        };
        let before = tasks[..*place].iter().filter(|other| waits(other)).count() as u64;
        let own = self.shown.get(queue)?;
        let until = own.lengths.partition_point(|(since, _)| *since <= at);
        let length = until.checked_sub(1).map_or(0, |last| own.lengths[last].1);
        Some((before + 1, length.max(before + 1)))
    }

    /// The queues with tracks, the names of all known ones, and the number of those without a track.
    pub(super) fn finish(mut self) -> (Vec<Queue>, HashMap<u32, String>, u64) {
        let queues = self.order.iter().filter_map(|queue| self.shown.remove(queue)).collect();
        (queues, self.labels, self.more)
    }
}

/// `pool-1 (ThreadPoolExecutor)` if the threads of the queue are known, else `ThreadPoolExecutor 0x1a2b`.
fn label(plan: &Shown<'_>, queue: u32, tasks: &[usize]) -> String {
    let all = plan.work.tasks();
    let texts = plan.input.facts.recording.texts();
    let class =
        tasks.iter().find_map(|task| texts.get(all[*task].queue_class).filter(|class| !class.is_empty()));
    let class = class.map_or("executor", short_class);
    let name = match plan.posts.thread(queue) {
        Some(thread) => Some(thread_name(plan.input.threads, thread)),
        None => {
            let threads = tasks.iter().filter_map(|task| all[*task].run).map(|run| run.thread);
            let mut pools = threads.map(|thread| pool(thread_name(plan.input.threads, thread)));
            let first = pools.next();
            // An executor that runs its tasks on any thread has none of its own.
            first.filter(|first| pools.all(|other| other == *first))
        }
    };
    let label = match name {
        Some(name) => format!("{name} ({class})"),
        None => format!("{class} 0x{queue:x}"),
    };
    clean(&label).into_owned()
}

/// The lengths and delays of a queue.
fn counted(plan: &Shown<'_>, tasks: &[usize]) -> Queue {
    let all = plan.work.tasks();
    let mut queue = Queue::default();
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for index in tasks {
        let task = &all[*index];
        if task.is_scheduled {
            continue;
        }
        let submitted = task.submitted.at;
        let left = match plan.fates[*index] {
            Fate::Unknown => {
                queue.unknown += 1;
                continue;
            }
            Fate::Queued => None,
            Fate::Left(at) => Some(at),
            Fate::Started { at, .. } => {
                queue.delays.push((at, at.saturating_sub(submitted)));
                Some(at)
            }
        };
        changes.push((submitted, 1));
        changes.extend(left.map(|at| (at.max(submitted), -1)));
    }
    queue.delays.sort_by_key(|(at, _)| *at);
    changes.sort_by_key(|(at, _)| *at);
    let mut length = 0_i64;
    for (at, change) in changes {
        length += change;
        // Of one moment the last.
        queue.lengths.pop_if(|(last, _)| *last == at);
        queue.lengths.push((at, length.max(0) as u64));
    }
    queue
}
