//! Which task a wait for a future or a coroutine leads to, and which thread has to move.

use std::collections::HashSet;

use answers::answer::MAX_LINKS;
use trace_format::event::ConcurrencyStep;
use trace_format::{ReadError, TextId};

use super::resolve::{Resolved, holders};
use super::{Chains, Culprit, Why, WhyCause, only};
use crate::facts::concurrency::{Suspension, Task, TaskState};

/// Futures that only a call completes (JDK, Guava, kotlinx.coroutines).
const BY_HAND: [&str; 3] = ["CompletableFuture", "SettableFuture", "CompletableDeferredImpl"];

/// Dispatchers whose coroutines share threads with those of others.
const SHARED: [&str; 3] = [
    "kotlinx.coroutines.scheduling.",
    "kotlinx.coroutines.internal.LimitedDispatcher",
    "kotlinx.coroutines.internal.NamedDispatcher",
];

/// The dispatcher of Android's main thread.
const MAIN_DISPATCHER: &str = "kotlinx.coroutines.android.Handler";

/// Where a chain of futures and coroutines leads.
enum Leads<'w> {
    /// To a task that runs, or that no thread has begun, and the cause that a passed lock gives.
    Task(&'w Task, Option<WhyCause>),
    /// To this explanation.
    Ends(Resolved<'w>),
    /// To an object that no task belongs to, from the last task if any was passed.
    Object(u32, TextId, Option<&'w Task>),
    Unknown(Option<&'w Task>),
}

/// The object of kotlinx.coroutines that a class implements, if calls on it suspend.
fn suspends(class: &str) -> Option<&'static str> {
    let simple = class.rsplit('.').next().filter(|_| class.starts_with("kotlinx.coroutines."))?;
    ["Mutex", "Semaphore", "Channel", "Flow", "Deferred"].into_iter().find(|word| simple.contains(word))
}

impl Chains<'_> {
    /// A future, or a coroutine.
    pub(super) fn future(
        &self,
        thread: usize,
        object: u32,
        class: TextId,
    ) -> Result<Resolved<'_>, ReadError> {
        let is_coroutine = self.work.task_of(object).is_some_and(|task| task.is_coroutine);
        let resolved = match self.leads(object, class) {
            Leads::Task(task, cause) => {
                let resolved = match (task.state(), task.run) {
                    (TaskState::Running, Some(run)) => {
                        Resolved::thread("future", WhyCause::SlowTask, run.thread)
                    }
                    _ => self.queued(thread, task)?,
                };
                let cause = resolved.cause.map(|known| match known {
                    WhyCause::SlowTask => cause.unwrap_or(known),
                    _ => known,
                });
                Resolved { task: Some(task), cause, ..resolved }
            }
            Leads::Ends(resolved) => resolved,
            Leads::Unknown(task) => Resolved { task, ..Resolved::unknown("future") },
            Leads::Object(object, class, task) => Resolved { task, ..self.by_hand(object, class) },
        };
        Ok(if is_coroutine { Resolved { waits_for: "coroutine", ..resolved } } else { resolved })
    }

    fn class_name(&self, class: TextId) -> &str {
        self.facts.recording.texts().get(class).unwrap_or_default()
    }

    fn by_hand(&self, object: u32, class: TextId) -> Resolved<'_> {
        let completed = self.work.at(object, ConcurrencyStep::Completed).next().is_some();
        let stage = self.work.whole(object).is_some();
        let simple = self.class_name(class).rsplit('.').next();
        if !completed && !stage && BY_HAND.iter().any(|known| simple == Some(known)) {
            return Resolved::ended("future", WhyCause::NeverCompleted, Culprit::default());
        }
        Resolved::unknown("future")
    }

    /// Follows stages to the one before, and suspended coroutines to what they wait for.
    fn leads(&self, object: u32, class: TextId) -> Leads<'_> {
        let (mut object, mut class, mut cause) = (object, class, None);
        let (mut given, mut passed): (Option<&Task>, Option<&Task>) = (None, None);
        for _ in 0..MAX_LINKS {
            let task = given.take().or_else(|| self.work.task_of(object));
            // A stage runs when the one before it is done.
            let before = self
                .work
                .whole(object)
                .filter(|_| task.is_none_or(|task| task.is_stage && task.run.is_none()));
            let ended =
                |object| self.work.task_of(object).is_some_and(|task| task.state() == TaskState::Finished);
            if let Some((before, of)) = before.filter(|(before, _)| !ended(*before)) {
                (object, class) = (before, of);
                continue;
            }
            let Some(task) = task else { return Leads::Object(object, class, passed) };
            passed = Some(task);
            let suspension = match (task.state(), &task.suspension) {
                (TaskState::Queued, _) if task.is_stage => return Leads::Unknown(Some(task)),
                (TaskState::Running | TaskState::Queued, _) => return Leads::Task(task, cause),
                (TaskState::Suspended, Some(suspension)) if self.work.stays_suspended(suspension) => {
                    suspension
                }
                _ => return Leads::Unknown(Some(task)),
            };
            if suspension.object == 0 {
                // A delay, which needs no thread.
                let cause = cause.unwrap_or(WhyCause::SlowTask);
                let culprit = self.without_thread(task);
                return Leads::Ends(Resolved {
                    task: Some(task),
                    ..Resolved::ended("future", cause, culprit)
                });
            }
            let name = self.class_name(suspension.class);
            let simple = name.rsplit('.').next().unwrap_or_default();
            if simple == "MutexImpl" {
                match self.lock_of_coroutine(task, suspension) {
                    Some(owner) => (given, cause) = (Some(owner), Some(WhyCause::LockHeld)),
                    None => return Leads::Unknown(Some(task)),
                }
            } else if simple.ends_with("Channel") {
                match self.channel(task, suspension) {
                    Ok(Some(producer)) => given = Some(producer),
                    Ok(None) => {
                        let ended = Resolved::ended("future", WhyCause::EmptyQueue, Culprit::default());
                        return Leads::Ends(ended);
                    }
                    Err(()) => return Leads::Unknown(Some(task)),
                }
            } else if matches!(suspends(name), Some("Semaphore" | "Flow")) {
                return Leads::Unknown(Some(task));
            }
            (object, class) = (suspension.object, suspension.class);
            if given.is_some() {
                object = 0;
            }
        }
        Leads::Unknown(None)
    }

    /// The object at which a coroutine, or the last one for which it waits, is suspended.
    pub(super) fn suspended_at(&self, task: &Task) -> Option<&'static str> {
        suspends(self.class_name(self.suspension(task)?.class))
    }

    fn suspension(&self, task: &Task) -> Option<Suspension> {
        let mut task = task;
        for _ in 0..MAX_LINKS {
            let suspension = task.suspension.filter(|suspension| self.work.stays_suspended(suspension))?;
            match self.work.task_of(suspension.object).filter(|next| *next != task) {
                Some(next) => task = next,
                None => return Some(suspension),
            }
        }
        None
    }

    /// The time since which the coroutine at the end of a chain waits for a lock or a permit, ns.
    pub(in crate::report) fn locked_out_since(&self, why: &Why) -> Option<u64> {
        let suspension = self.suspension(self.work.task_of(why.links.last()?.id)?)?;
        let is_lock = matches!(suspends(self.class_name(suspension.class)), Some("Mutex" | "Semaphore"));
        is_lock.then_some(suspension.at)
    }

    /// A coroutine that waits: no thread runs it.
    pub(super) fn without_thread(&self, task: &Task) -> Culprit {
        Culprit { thread: None, task: self.method_name(task.method), site: self.site(&task.submitted) }
    }

    /// The coroutine that has the mutex for which another waits.
    fn lock_of_coroutine(&self, waiting: &Task, suspension: &Suspension) -> Option<&Task> {
        let tasks = self.work.tasks();
        let changes = self.work.accesses(suspension.object).map(|access| {
            // What an unknown coroutine did may be anything.
            let at = access.task?;
            let still_waits = tasks.get(at)?.suspension.is_some_and(|own| own.at == access.at);
            let is_release = access.step == ConcurrencyStep::Released;
            Some((at, if is_release { -1 } else { i64::from(!still_waits) }))
        });
        let changes: Vec<_> = changes.collect::<Option<_>>()?;
        tasks.get(only(holders(changes.into_iter())?)?).filter(|owner| *owner != waiting)
    }

    /// The coroutine that has to send; `Ok(None)` if no coroutine does.
    fn channel(&self, waiting: &Task, suspension: &Suspension) -> Result<Option<&Task>, ()> {
        let puts = self.work.accesses(suspension.object).filter(|access| access.step == ConcurrencyStep::Put);
        let mut producers: HashSet<usize> = HashSet::new();
        for put in puts {
            let task = put.task.ok_or(())?;
            if self.work.tasks().get(task) == Some(waiting) {
                // It sends, and waits for a receiver.
                return Err(());
            }
            producers.insert(task);
        }
        let all = || self.work.tasks().iter().filter(|task| task.is_coroutine);
        if producers.is_empty() {
            let may_send = |task: &&Task| match task.state() {
                TaskState::Running | TaskState::Suspended => {
                    task.run.is_some_and(|run| run.does & trace_format::event::Concurrency::PUTS != 0)
                }
                TaskState::Finished => false,
                _ => true,
            };
            let mut may = all().filter(|task| *task != waiting).filter(may_send);
            return match (may.next(), may.next()) {
                (None, _) => Ok(None),
                (Some(only), None) if only.run.is_some() => Ok(Some(only)),
                _ => Err(()),
            };
        }
        let mut producers = producers.into_iter();
        match (producers.next(), producers.next()) {
            (Some(only), None) => {
                let task = self.work.tasks().get(only).ok_or(())?;
                if task.state() == TaskState::Finished { Err(()) } else { Ok(Some(task)) }
            }
            _ => Err(()),
        }
    }

    /// A task that no thread has begun.
    pub(super) fn queued<'w>(&'w self, thread: usize, task: &'w Task) -> Result<Resolved<'w>, ReadError> {
        let unknown = || Resolved { task: Some(task), ..Resolved::unknown("future") };
        let mut workers = self.work.workers(task.queue);
        if task.queue == 0 || self.work.queued(task.queue).is_none() {
            return Ok(unknown());
        }
        if self.all_wait_for(&workers, task.queue)? {
            return Ok(Resolved { task: Some(task), ..self.exhausted(&workers) });
        }
        let next =
            |thread| Resolved { task: Some(task), ..Resolved::thread("future", WhyCause::LongQueue, thread) };
        workers.retain(|run| run.thread != thread);
        if let Some(run) = workers.first() {
            return Ok(next(run.thread));
        }
        if !task.is_coroutine {
            return Ok(unknown());
        }
        // No coroutine of the dispatcher runs: its thread does something else.
        let class = self.class_name(task.queue_class);
        if SHARED.iter().any(|shared| class.starts_with(shared)) {
            return Ok(unknown());
        }
        let only = match class.starts_with(MAIN_DISPATCHER) {
            true => self.facts.recording.threads().iter().position(|thread| thread.main),
            false => self.work.only_thread(task.queue),
        };
        Ok(only.map_or_else(unknown, next))
    }

    /// The task in the queue that an object leads to.
    pub(super) fn queued_behind(&self, object: u32) -> Option<&Task> {
        match self.leads(object, TextId::default()) {
            Leads::Task(task, _) if task.state() == TaskState::Queued => Some(task),
            _ => None,
        }
    }
}
