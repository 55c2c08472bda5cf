//! The causal chain as JSON: the threads and tasks for which main waits.

use serde::Serialize;

use crate::report::why::{self, BusyThreads, QueueFact, TaskFact, WhyCause};

/// The reason why a wait was not over.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Why<'a> {
    /// The chain as a sentence.
    text: &'a str,
    /// The reason why the last link's wait is not over: pool-exhausted, self-made-deadlock, latch-never-counted-down,
    /// lost-wake-up, never-signalled, never-completed, empty-queue, slow-task, long-queue, lock-held, slow-thread; null if the
    /// recording does not show it.
    cause: Option<&'static str>,
    /// True if the chain returns to a thread that it passed.
    cycle: bool,
    /// The threads, main first, each with the object for which it waits.
    links: Vec<WhyLink<'a>>,
    /// The thread that must move, as far as known.
    culprit: Culprit<'a>,
    /// The number of steps of concurrent work that were too many to be examined.
    steps_left_out: u64,
}

/// A thread and the object for which it waits.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WhyLink<'a> {
    /// The thread's name.
    thread: &'a str,
    /// The thread's kernel id.
    tid: u32,
    /// The time since which it waits, or is in its innermost method.
    since_ns: u64,
    /// One of future, coroutine, lock, monitor, latch, semaphore, barrier, condition, queue, thread, executor, blocking, sleep,
    /// nothing, unknown.
    waits_for: &'static str,
    /// The class of the object.
    class: Option<&'a str>,
    /// The identity of the object; 0 if unknown.
    id: u32,
    /// The innermost recorded method.
    r#in: Option<&'a str>,
    /// The owner of the lock or permit.
    owner: Option<&'a str>,
    /// The task for which the thread waits.
    task: Option<Task<'a>>,
}

/// The thread that must move so that the chain ends.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Culprit<'a> {
    /// The name of the thread that must move; null if unknown.
    thread: Option<&'a str>,
    /// The task that it runs, or that has ended: the method that is its code.
    task: Option<&'a str>,
    /// The place where that task was submitted, or the thread started.
    site: Option<&'a str>,
}

impl<'a> From<&'a why::Why> for Why<'a> {
    fn from(why: &'a why::Why) -> Self {
        let culprit = Culprit {
            thread: why.culprit.thread.as_deref(),
            task: why.culprit.task.as_deref(),
            site: why.culprit.site.as_deref(),
        };
        Self {
            text: &why.text,
            cause: why.cause.map(WhyCause::word),
            cycle: why.cycle,
            links: why.links.iter().map(WhyLink::from).collect(),
            culprit,
            steps_left_out: why.dropped,
        }
    }
}

impl<'a> From<&'a why::WhyLink> for WhyLink<'a> {
    fn from(link: &'a why::WhyLink) -> Self {
        Self {
            thread: &link.thread,
            tid: link.tid,
            since_ns: link.since,
            waits_for: link.waits_for,
            class: link.class.as_deref(),
            id: link.id,
            r#in: link.inside.as_deref(),
            owner: link.owner.as_deref(),
            task: link.task.as_ref().map(Task::from),
        }
    }
}

/// A task, as far as it is known.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Task<'a> {
    /// The method that is the task's code, else its class.
    name: Option<&'a str>,
    /// True for a coroutine, which may wait without a thread.
    coroutine: bool,
    /// One of queued, waiting (a stage, for the one before it), scheduled, running, suspended (a coroutine), finished, unknown.
    state: &'static str,
    /// Source file and line of the submission.
    submitted_at: Option<&'a str>,
    /// The method that submitted it.
    submitted_in: Option<&'a str>,
    /// The thread that submitted it.
    submitted_by: Option<&'a str>,
    /// The time of the submission.
    submitted_ns: u64,
    /// The thread that runs it.
    thread: Option<&'a str>,
    /// The queue in which it waits.
    queue: Option<TaskQueue<'a>>,
}

impl<'a> From<&'a TaskFact> for Task<'a> {
    fn from(task: &'a TaskFact) -> Self {
        Self {
            name: task.name.as_deref(),
            coroutine: task.is_coroutine,
            state: task.state,
            submitted_at: task.submitted_at.as_deref(),
            submitted_in: task.submitted_in.as_deref(),
            submitted_by: task.submitted_by.as_deref(),
            submitted_ns: task.submitted,
            thread: task.thread.as_deref(),
            queue: task.queue.as_ref().map(TaskQueue::from),
        }
    }
}

/// The queue in which a task waits.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TaskQueue<'a> {
    /// The class of the executor.
    class: Option<&'a str>,
    /// The identity of the executor.
    id: u32,
    /// The task's place, from 1.
    place: usize,
    /// The number of tasks that wait.
    pending: usize,
    /// The threads that run the queue's tasks, the first to begin in front.
    workers: &'a [String],
    /// The pool's name: the common part of its threads' names.
    pool: Option<&'a str>,
    /// The methods in which these threads are, the most frequent in front.
    busy: Vec<PoolThreads<'a>>,
    /// The place where most of the tasks in front were submitted.
    posters: Option<Posters<'a>>,
}

/// Threads of a pool that are in the same method.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PoolThreads<'a> {
    /// The innermost method, with the class of the object whose call blocks there.
    r#in: &'a str,
    /// The number of threads.
    threads: usize,
    /// The time since which the first of them is there.
    since_ns: u64,
}

impl<'a> From<&'a QueueFact> for TaskQueue<'a> {
    fn from(queue: &'a QueueFact) -> Self {
        let busy = |busy: &'a BusyThreads| PoolThreads {
            r#in: &busy.inside,
            threads: busy.threads,
            since_ns: busy.since,
        };
        Self {
            class: queue.class.as_deref(),
            id: queue.id,
            place: queue.place,
            pending: queue.pending,
            workers: &queue.workers,
            pool: queue.pool.as_deref(),
            busy: queue.busy.iter().map(busy).collect(),
            posters: queue.posters.as_ref().map(Posters::from),
        }
    }
}

/// The place where most messages or tasks of a queue were submitted.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Posters<'a> {
    /// The method that is the tasks' code, else their class.
    task: Option<&'a str>,
    /// The call that submitted them: file and line.
    site: Option<&'a str>,
    /// The thread that submitted them; null if several did.
    thread: Option<&'a str>,
    /// The number of tasks from there.
    count: usize,
    /// The number of tasks in the queue.
    of: usize,
}

impl<'a> From<&'a why::Posters> for Posters<'a> {
    fn from(posters: &'a why::Posters) -> Self {
        Self {
            task: posters.task.as_deref(),
            site: posters.site.as_deref(),
            thread: posters.thread.as_deref(),
            count: posters.count,
            of: posters.of,
        }
    }
}

/// Calls of `SharedPreferences.Editor.apply` before main's wait for their writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PreferenceWrites<'a> {
    /// The number of calls; some of them may be written already.
    count: usize,
    /// The time from which on they were counted.
    from_ns: u64,
    /// The places of the calls, the most frequent in front; at most 64.
    sites: Vec<WriteSite<'a>>,
}

/// A place that calls `apply()`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WriteSite<'a> {
    /// File and line, else class, method and line.
    site: &'a str,
    /// The recorded method that called `apply`; null outside recorded methods.
    method: Option<&'a str>,
    /// The number of calls.
    count: usize,
}

impl<'a> From<&'a why::PreferenceWrites> for PreferenceWrites<'a> {
    fn from(writes: &'a why::PreferenceWrites) -> Self {
        let site = |site: &'a why::WriteSite| WriteSite {
            site: &site.site,
            method: site.method.as_deref(),
            count: site.count,
        };
        Self { count: writes.count, from_ns: writes.from, sites: writes.sites.iter().map(site).collect() }
    }
}
