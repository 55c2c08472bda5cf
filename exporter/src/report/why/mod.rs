//! Why a wait is not over: what main waits for, who works on it, what that thread waits for, and so on.
//!
//! A link says nothing rather than something wrong: where several tasks or threads may be meant, the chain ends.
//!
//! The types are also the report's JSON, and their comments stand in `docs/report-schema.json`.

mod applies;
mod coroutines;
mod queue;
mod resolve;
mod words;

use answers::answer::{CauseId, MAX_LINKS};
use answers::waited::serialize_call;
use serde::Serialize;
use trace_format::event::{CallId, Wait, WaitKind};
use trace_format::{ReadError, Thread};

use super::open_item::OpenItemKind;
use super::walk::stack_at;
use crate::facts::Facts;
use crate::facts::concurrency::{ConcurrentWork, Submission, Task, TaskCodes, TaskState};
use crate::model::Names;
use crate::words::thread_name;
pub use applies::{PreferenceWrites, WriteSite};
pub(super) use queue::STORM_WINDOW;
use resolve::Next;
pub(super) use words::posted;

/// Maximum number of workers of a queue whose waits are read.
const MAX_WORKERS: usize = 64;

/// The reason why a wait is not over, in one word. The words are the same in all versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhyCause {
    /// All threads of a pool wait for tasks of the same pool.
    PoolExhausted,
    /// The chain returns to a thread that it passed.
    SelfMadeDeadlock,
    /// All tasks that could count the latch down have ended.
    LatchNeverCountedDown,
    /// The notification came before the wait.
    LostWakeUp,
    /// No thread has notified the waiters.
    NeverSignalled,
    /// No thread has completed the future.
    NeverCompleted,
    /// No thread has put anything into the queue.
    EmptyQueue,
    /// The only thread that has put anything into the queue waits for the end of the one that takes from it.
    NoMoreWork,
    /// The task takes long.
    SlowTask,
    /// The task waits in its queue behind others.
    LongQueue,
    /// Another thread has the lock, or the permit.
    LockHeld,
    /// The thread that is joined still runs.
    SlowThread,
}

impl WhyCause {
    /// The named cause that it is; `None` if what main waits for names it.
    pub(super) fn cause_id(self) -> Option<CauseId> {
        match self {
            Self::PoolExhausted => Some(CauseId::PoolExhausted),
            Self::SelfMadeDeadlock => Some(CauseId::SelfMadeDeadlock),
            Self::LatchNeverCountedDown => Some(CauseId::LatchNeverCountedDown),
            Self::LostWakeUp => Some(CauseId::LostWakeUp),
            _ => None,
        }
    }
}

/// A task, as far as it is known.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Task"))]
#[non_exhaustive]
pub struct TaskFact {
    /// The method that is the task's code, else its class.
    pub name: Option<String>,
    /// True for a coroutine, which may wait without a thread.
    #[serde(rename = "coroutine")]
    pub is_coroutine: bool,
    /// One of queued, waiting (a stage, for the one before it), scheduled, running, suspended (a coroutine), finished, unknown.
    pub state: &'static str,
    /// Source file and line of the submission.
    pub submitted_at: Option<String>,
    /// The method that submitted it.
    pub submitted_in: Option<String>,
    /// The thread that submitted it.
    pub submitted_by: Option<String>,
    /// The time of the submission.
    #[serde(rename = "submitted_ns")]
    pub submitted: u64,
    /// The thread that runs it.
    pub thread: Option<String>,
    /// The queue in which it waits.
    pub queue: Option<QueueFact>,
    /// The object at which a coroutine is suspended: Mutex, Semaphore, Channel, Flow or Deferred; null if the recording does not
    /// show it.
    pub suspended_at: Option<&'static str>,
}

/// The queue in which a task waits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TaskQueue"))]
#[non_exhaustive]
pub struct QueueFact {
    /// The class of the executor.
    pub class: Option<String>,
    /// The identity of the executor.
    pub id: u32,
    /// The task's place, from 1.
    pub place: usize,
    /// The number of tasks that wait.
    pub pending: usize,
    /// The threads that run the queue's tasks, the first to begin in front.
    pub workers: Vec<String>,
    /// The pool's name: the common part of its threads' names.
    pub pool: Option<String>,
    /// The methods in which these threads are, the most frequent in front.
    pub busy: Vec<BusyThreads>,
    /// The place where most of the tasks in front were submitted.
    pub posters: Option<Posters>,
}

/// Threads of a pool that are in the same method.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PoolThreads"))]
#[non_exhaustive]
pub struct BusyThreads {
    /// The innermost method, with the class of the object whose call blocks there.
    #[serde(rename = "in")]
    pub inside: String,
    /// The number of threads.
    pub threads: usize,
    /// The time since which the first of them is there.
    #[serde(rename = "since_ns")]
    pub since: u64,
}

/// The place where most messages or tasks of a queue were submitted.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Posters {
    /// The method that is the tasks' code, else their class.
    pub task: Option<String>,
    /// The call that submitted them: file and line.
    pub site: Option<String>,
    /// The thread that submitted them; null if several did.
    pub thread: Option<String>,
    /// The number of tasks from there.
    pub count: usize,
    /// The number of tasks in the queue.
    pub of: usize,
}

/// A thread and the object for which it waits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WhyLink {
    /// The thread's name.
    pub thread: String,
    /// The thread's kernel id.
    pub tid: u32,
    /// The time since which it waits, or is in its innermost method.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// One of future, coroutine, lock, monitor, latch, semaphore, barrier, condition, queue, thread, executor, blocking, sleep,
    /// nothing, unknown.
    pub waits_for: &'static str,
    /// The class of the object.
    pub class: Option<String>,
    /// The call that waits, as in the program's source; null if it is not known.
    #[serde(serialize_with = "serialize_call")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub call: CallId,
    /// The identity of the object; 0 if unknown.
    pub id: u32,
    /// The innermost recorded method.
    #[serde(rename = "in")]
    pub inside: Option<String>,
    /// The owner of the lock or permit.
    pub owner: Option<String>,
    /// The task for which the thread waits.
    pub task: Option<TaskFact>,
}

impl WhyLink {
    /// True if it waits for a lock, whose owner is another thread.
    pub(super) fn is_for_lock(&self) -> bool {
        matches!(self.waits_for, "lock" | "monitor")
    }
}

/// The thread that must move so that the chain ends.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Culprit {
    /// The name of the thread that must move; null if unknown.
    pub thread: Option<String>,
    /// The task that it runs, or that has ended: the method that is its code.
    pub task: Option<String>,
    /// The place where that task was submitted, or the thread started.
    pub site: Option<String>,
}

/// The reason why a wait was not over.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Why {
    /// The chain as a sentence.
    pub text: String,
    /// The reason why the last link's wait is not over: pool-exhausted, self-made-deadlock, latch-never-counted-down,
    /// lost-wake-up, never-signalled, never-completed, empty-queue, no-more-work, slow-task, long-queue, lock-held, slow-thread;
    /// null if the recording does not show it.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub cause: Option<WhyCause>,
    /// True if the chain returns to a thread that it passed.
    pub cycle: bool,
    /// The threads, main first, each with the object for which it waits.
    pub links: Vec<WhyLink>,
    /// The thread that must move, as far as known.
    pub culprit: Culprit,
    /// The parts of the sentence, a link each.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// The number of steps of concurrent work that were too many to be examined.
    #[serde(rename = "steps_left_out")]
    pub dropped: u64,
}

impl Why {
    /// The thread that waits for an end in a circle to `next`, and that alone has put into the queue from which the ending one
    /// takes: work has run out, which is no deadlock.
    fn waits_for_an_idle_end(&self, next: usize, passed: &[usize]) -> Option<usize> {
        let first = passed.iter().position(|thread| *thread == next)?;
        let (circle, threads) = (self.links.get(first..)?, &passed[first..]);
        let mut pairs = circle.iter().zip(circle.iter().cycle().skip(1));
        let taker = pairs.position(|(taker, next)| {
            taker.waits_for == "queue" && matches!(next.waits_for, "thread" | "executor")
        })?;
        threads.iter().cycle().nth(taker + 1).copied()
    }

    /// The cause if the chain returns to `next`. A permit and a notification have no owner: the permits may be lost, and any
    /// other thread could notify.
    fn cause_of_a_circle(&self, next: usize, passed: &[usize]) -> Option<WhyCause> {
        let first = passed.iter().position(|thread| *thread == next)?;
        let owned = |link: &WhyLink| !matches!(link.waits_for, "semaphore" | "condition");
        self.links.get(first..)?.iter().all(owned).then_some(WhyCause::SelfMadeDeadlock)
    }

    /// The kernel id of the thread at the end of the chain, which has to go on first; `None` if the chain itself is the reason.
    pub(super) fn giver(&self) -> Option<u32> {
        let is_named = self.cycle || self.cause.is_some_and(|cause| cause.cause_id().is_some());
        self.links.last().filter(|_| !is_named && self.links.len() > 1).map(|link| link.tid)
    }
}

/// The threads and the steps of concurrent work at one moment. They are read once for all links.
pub(super) struct Chains<'a> {
    facts: &'a Facts<'a>,
    names: &'a Names<'a>,
    work: ConcurrentWork,
    pub(super) at: u64,
}

impl<'a> Chains<'a> {
    pub(super) fn of(facts: &'a Facts<'a>, names: &'a Names<'a>, at: u64) -> Result<Self, ReadError> {
        let mut codes = TaskCodes::default();
        for (id, method) in names.all() {
            codes.add(id, method.class, method.method);
        }
        let work = ConcurrentWork::of(facts, &codes, at)?;
        Ok(Self { facts, names, work, at })
    }
}

impl Chains<'_> {
    fn main(&self) -> Option<usize> {
        self.facts.recording.threads().iter().position(|thread| thread.main)
    }

    /// Finds why this thread's wait is not over; `None` if it does not wait.
    pub(super) fn why(&self, of: &Thread) -> Result<Option<Why>, ReadError> {
        let mut threads = self.facts.recording.threads().iter();
        let Some(main) = threads.position(|thread| thread.uid == of.uid) else { return Ok(None) };
        let mut why = Why { dropped: self.work.dropped, ..Why::default() };
        let mut passed: Vec<usize> = Vec::new();
        let mut thread = main;
        while passed.len() < MAX_LINKS {
            passed.push(thread);
            let (mut link, wait) = self.link(thread)?;
            // A monitor's owner is shown anyway.
            let plain = |wait: &Wait| wait.kind == WaitKind::Monitor && self.work.is_empty();
            let Some(wait) = wait.filter(|wait| thread != main || !plain(wait)) else {
                if thread == main {
                    return Ok(None);
                }
                why.links.push(link);
                why.culprit = self.culprit(thread);
                break;
            };
            let resolved = self.resolve(thread, link.since, wait)?;
            link.waits_for = resolved.waits_for;
            link.task = resolved.task.map(|task| self.task_fact(task)).transpose()?;
            link.owner = resolved.owner.and_then(|owner| self.thread_name(owner));
            why.links.push(link);
            // Of a chain that ends in a sleep or in a call, the link before says why.
            why.cause = resolved.cause.or(why.cause);
            match resolved.next {
                Next::Thread(next) if passed.contains(&next) => {
                    if let Some(putter) = why.waits_for_an_idle_end(next, &passed) {
                        (why.cause, why.culprit) = (Some(WhyCause::NoMoreWork), self.culprit(putter));
                        break;
                    }
                    (why.cycle, why.cause) = (true, why.cause_of_a_circle(next, &passed));
                    // Alone, main waits for what only main can run.
                    let of_task = || Culprit {
                        thread: self.thread_name(main),
                        ..resolved.task.map(|task| self.without_thread(task)).unwrap_or_default()
                    };
                    let other = passed.iter().rev().find(|thread| **thread != main);
                    why.culprit = other.map_or_else(of_task, |other| self.culprit(*other));
                    break;
                }
                Next::Thread(next) => thread = next,
                Next::Ends(culprit) => {
                    why.culprit = culprit;
                    break;
                }
                Next::Works => {
                    why.culprit = if thread == main { Culprit::default() } else { self.culprit(thread) };
                    break;
                }
                Next::Unknown => {
                    why.cause = None;
                    break;
                }
            }
        }
        why.lines = words::lines(&why, self.at);
        why.text = why.lines.join("; ");
        Ok(Some(why))
    }

    /// What a thread does, and its wait.
    fn link(&self, thread: usize) -> Result<(WhyLink, Option<Wait>), ReadError> {
        let info = &self.facts.recording.threads()[thread];
        let (stack, _) = stack_at(self.facts, self.names, info, self.at)?;
        let method = stack.iter().rev().find(|open| open.kind == OpenItemKind::Method);
        let wait = stack.last().and_then(|open| open.wait);
        let link = WhyLink {
            thread: thread_name(info),
            tid: info.tid,
            since: stack.last().map_or(0, |open| open.since),
            waits_for: "nothing",
            class: wait.and_then(|wait| self.facts.text(wait.class)),
            call: wait.map_or(CallId(0), |wait| wait.call),
            id: wait.map_or(0, |wait| wait.lock as u32),
            inside: method.map(|open| open.name.clone()),
            task: None,
            owner: None,
        };
        Ok((link, wait))
    }

    fn thread_name(&self, thread: usize) -> Option<String> {
        self.facts.recording.threads().get(thread).map(thread_name)
    }

    fn method_name(&self, method: u32) -> Option<String> {
        (method != 0).then(|| self.names.method(method).into_owned())
    }

    /// `Cart.kt:88`; without a file `Cart.refresh:88`.
    fn site(&self, submitted: &Submission) -> Option<String> {
        self.names.call_site(submitted.method, submitted.line)
    }

    fn task_fact(&self, task: &Task) -> Result<TaskFact, ReadError> {
        let state = match task.state() {
            TaskState::Queued if task.is_stage => "waiting",
            TaskState::Queued => "queued",
            TaskState::Scheduled => "scheduled",
            TaskState::Running => "running",
            TaskState::Suspended => "suspended",
            TaskState::Finished => "finished",
            TaskState::Unknown => "unknown",
        };
        let is_in_queue = task.state() == TaskState::Queued && task.queue != 0;
        let class = || self.facts.text(task.class);
        Ok(TaskFact {
            name: self.method_name(task.method).or_else(class),
            is_coroutine: task.is_coroutine,
            state,
            submitted_at: self.site(&task.submitted),
            submitted_in: self.method_name(task.submitted.method),
            submitted_by: self.thread_name(task.submitted.thread),
            submitted: task.submitted.at,
            thread: task.run.and_then(|run| self.thread_name(run.thread)),
            queue: if is_in_queue { self.queue_fact(task)? } else { None },
            suspended_at: self.suspended_at(task),
        })
    }

    /// The thread with the task that it runs, and where that was submitted or the thread started.
    fn culprit(&self, thread: usize) -> Culprit {
        let running = self.work.running_on(thread);
        let task = running.and_then(|(_, task)| task);
        // A task that no thread handed over was begun by its thread.
        let begun = || self.thread_started(thread);
        let submitted = match task {
            Some(task) if task.is_stage => begun().or(Some(task.submitted)),
            Some(task) => Some(task.submitted),
            None => begun(),
        };
        Culprit {
            thread: self.thread_name(thread),
            task: running.and_then(|(run, task)| {
                // A coroutine may be in a function that was suspended: its body names it.
                let body = task.filter(|task| task.is_coroutine).map(|task| task.method);
                self.method_name(body.unwrap_or(run.method))
            }),
            site: submitted.and_then(|submitted| self.site(&submitted)),
        }
    }

    /// Where a thread was started; `None` if another of this name was.
    fn thread_started(&self, thread: usize) -> Option<Submission> {
        let info = self.facts.recording.threads().get(thread)?;
        let texts = self.facts.recording.texts();
        let name = info.name.as_deref()?;
        let same = self
            .work
            .started_threads()
            .filter(|step| texts.get(step.what.class) == Some(name) && step.at <= info.started.max(step.at));
        only(same).map(Submission::from)
    }
}

/// The one item, if there is no other.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
