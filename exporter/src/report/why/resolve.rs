//! What a wait is for, and which thread has to end it.

use std::collections::HashMap;
use trace_format::ReadError;

use trace_format::event::{Concurrency, ConcurrencyStep, Wait, WaitKind};

use super::{Chains, Culprit, MAX_WORKERS, WhyCause, only};
use crate::facts::concurrency::{Run, Task, TaskState};
use crate::facts::{Change, Payload};

/// Who ends the wait.
pub(super) enum Next {
    /// Another thread has to.
    Thread(usize),
    /// No thread will, or no known one: this is all.
    Ends(Culprit),
    /// The thread works, or waits for something outside of the process.
    Works,
    /// The recording does not show it.
    Unknown,
}

/// What is known of a wait.
pub(super) struct Resolved<'w> {
    pub(super) waits_for: &'static str,
    pub(super) task: Option<&'w Task>,
    /// The owner of the lock: index of the thread.
    pub(super) owner: Option<usize>,
    pub(super) cause: Option<WhyCause>,
    pub(super) next: Next,
}

impl Resolved<'_> {
    pub(super) fn unknown(waits_for: &'static str) -> Self {
        Self { waits_for, task: None, owner: None, cause: None, next: Next::Unknown }
    }

    pub(super) fn ended(waits_for: &'static str, cause: WhyCause, culprit: Culprit) -> Self {
        Self { waits_for, task: None, owner: None, cause: Some(cause), next: Next::Ends(culprit) }
    }

    pub(super) fn thread(waits_for: &'static str, cause: WhyCause, thread: usize) -> Self {
        Self { waits_for, task: None, owner: None, cause: Some(cause), next: Next::Thread(thread) }
    }
}

/// The kind of object that a thread waits for by its class (OpenJDK 8 to 25, and AOSP libcore, `java.util.concurrent`).
fn kind_of(class: &str) -> &'static str {
    let simple = class.rsplit(['.', '$']).next().unwrap_or(class);
    match simple {
        "CountDownLatch" => "latch",
        "Semaphore" => "semaphore",
        "CyclicBarrier" | "Phaser" | "Exchanger" => "barrier",
        _ if simple.contains("Condition") => "condition",
        _ if simple.ends_with("Lock") => "lock",
        _ if simple.ends_with("Queue") || simple.ends_with("Deque") => "queue",
        _ if simple.ends_with("CompletionService") => "completion",
        _ if simple.contains("Executor") || simple.ends_with("Pool") => "executor",
        _ => "future",
    }
}

impl Chains<'_> {
    /// Finds the object of the wait that `thread` has been in since a moment, and the thread that has to end it.
    pub(super) fn resolve(&self, thread: usize, since: u64, wait: Wait) -> Result<Resolved<'_>, ReadError> {
        let object = wait.lock as u32;
        let class = self.facts.recording.texts().get(wait.class).unwrap_or_default();
        Ok(match wait.kind {
            WaitKind::Sleep => Resolved { next: Next::Works, ..Resolved::unknown("sleep") },
            WaitKind::Blocking => Resolved { next: Next::Works, ..Resolved::unknown("blocking") },
            WaitKind::Monitor => self.lock("monitor", thread, wait),
            WaitKind::Join => self.join(object),
            WaitKind::ObjectWait => self.signal(thread, since, object)?,
            WaitKind::Unknown(_) => Resolved::unknown("unknown"),
            WaitKind::Park => match kind_of(class) {
                "lock" => self.lock("lock", thread, wait),
                "condition" => self.signal(thread, since, object)?,
                "latch" => self.latch(thread, since, object)?,
                "semaphore" => self.permit(thread, object),
                "queue" => self.element(thread, object),
                "executor" => self.executor(thread, since, object)?,
                // Whichever of its tasks ends first.
                "completion" => match &self.work.workers(object)[..] {
                    [run] => Resolved::thread("queue", WhyCause::SlowTask, run.thread),
                    _ => Resolved::unknown("queue"),
                },
                "future" if object != 0 => self.future(thread, object, wait.class)?,
                kind => Resolved::unknown(kind),
            },
        })
    }

    fn thread_of_uid(&self, uid: u32) -> Option<usize> {
        self.facts.recording.threads().iter().position(|thread| uid != 0 && thread.uid == uid)
    }

    fn lock(&self, kind: &'static str, thread: usize, wait: Wait) -> Resolved<'_> {
        let Some(owner) = self.thread_of_uid(wait.owner).filter(|owner| *owner != thread) else {
            return Resolved::unknown(kind);
        };
        Resolved { owner: Some(owner), ..Resolved::thread(kind, WhyCause::LockHeld, owner) }
    }

    fn join(&self, object: u32) -> Resolved<'_> {
        let Some((name, step)) = self.work.thread_started(object) else { return Resolved::unknown("thread") };
        let name = self.facts.recording.texts().get(name);
        let threads = self.facts.recording.threads().iter().enumerate();
        // A thread joins the recording with its first event, after its start.
        let same = threads.filter(|(_, thread)| {
            thread.name.as_deref() == name && thread.started.saturating_add(1_000_000) >= step.at
        });
        let Some((thread, _)) = only(same) else { return Resolved::unknown("thread") };
        Resolved::thread("thread", WhyCause::SlowThread, thread)
    }

    /// A condition, or a monitor's wait set.
    fn signal(&self, thread: usize, since: u64, object: u32) -> Result<Resolved<'_>, ReadError> {
        let mut signals =
            self.work.at(object, ConcurrencyStep::Signalled).filter(|step| step.thread != thread);
        let Some(last) = signals.clone().next_back() else {
            return Ok(match object {
                0 => Resolved::unknown("condition"),
                _ => Resolved::ended("condition", WhyCause::NeverSignalled, Culprit::default()),
            });
        };
        if last.at >= since {
            return Ok(Resolved::unknown("condition"));
        }
        let by_one = signals.all(|step| step.thread == last.thread);
        if by_one && self.work.running_on(last.thread).is_some() {
            return Ok(Resolved::thread("condition", WhyCause::SlowTask, last.thread));
        }
        if self.waited_before(thread, since, object)?.is_some_and(|until| last.at <= until) {
            // It ended the wait before.
            return Ok(Resolved::unknown("condition"));
        }
        let culprit = if by_one { self.ended_on(last.thread) } else { Culprit::default() };
        Ok(Resolved::ended("condition", WhyCause::LostWakeUp, culprit))
    }

    /// The end of the last wait of a thread for an object before a moment.
    fn waited_before(&self, thread: usize, since: u64, object: u32) -> Result<Option<u64>, ReadError> {
        let mut last = None;
        let mut spans = self.facts.spans(&self.facts.recording.threads()[thread]);
        while let Some((change, _)) = spans.change()? {
            match change {
                Change::Closed { payload: Some(Payload::Wait(wait)), until, .. }
                    if until <= since && wait.lock as u32 == object =>
                {
                    last = Some(until);
                }
                _ if change.time().is_some_and(|time| time > since) => break,
                _ => {}
            }
        }
        Ok(last)
    }

    /// A thread with the task that it ran last.
    fn ended_on(&self, thread: usize) -> Culprit {
        let task = self.work.last_on(thread);
        let submitted = task.map(|task| task.submitted).or_else(|| self.thread_started(thread));
        Culprit {
            thread: self.thread_name(thread),
            task: task.and_then(|task| self.method_name(task.method)),
            site: submitted.and_then(|submitted| self.site(&submitted)),
        }
    }

    /// Who took permits and did not give them back.
    fn permit(&self, thread: usize, object: u32) -> Resolved<'_> {
        let taken = self.work.at(object, ConcurrencyStep::Acquired).map(|step| (step.thread, 1));
        let given = self.work.at(object, ConcurrencyStep::Released).map(|step| (step.thread, -1));
        let others = holders(taken.chain(given)).map(|all| all.filter(|holder| *holder != thread));
        let Some(holder) = others.and_then(only) else { return Resolved::unknown("semaphore") };
        Resolved { owner: Some(holder), ..Resolved::thread("semaphore", WhyCause::LockHeld, holder) }
    }

    /// A queue: who put before, if the thread takes, and the other way round.
    fn element(&self, thread: usize, object: u32) -> Resolved<'_> {
        let puts = self.work.at(object, ConcurrencyStep::Put).filter(|step| step.thread != thread);
        let takes = self.work.at(object, ConcurrencyStep::Taken).filter(|step| step.thread != thread);
        // A put is recorded before the call: the thread that waits to put has one more.
        let own_put = self.work.at(object, ConcurrencyStep::Put).rfind(|step| step.thread == thread);
        let waits_to_put = own_put.is_some_and(|put| self.work.is_last_on_thread(put));
        let others: Vec<usize> = if waits_to_put {
            takes.map(|step| step.thread).collect()
        } else {
            puts.map(|step| step.thread).collect()
        };
        match others.split_first() {
            Some((first, rest)) if rest.iter().all(|other| other == first) => {
                Resolved::thread("queue", WhyCause::SlowTask, *first)
            }
            None if object != 0 && !waits_to_put => {
                let producers = self.work.running().into_iter().map(|(run, _)| run);
                let mut producers =
                    producers.filter(|run| run.thread != thread && run.does & Concurrency::PUTS != 0);
                match (producers.next(), producers.next()) {
                    (Some(run), None) => Resolved::thread("queue", WhyCause::SlowTask, run.thread),
                    (None, _) => Resolved::ended("queue", WhyCause::EmptyQueue, Culprit::default()),
                    _ => Resolved::unknown("queue"),
                }
            }
            _ => Resolved::unknown("queue"),
        }
    }

    fn executor(&self, thread: usize, since: u64, object: u32) -> Result<Resolved<'_>, ReadError> {
        let own = self.work.running_on(thread).is_some();
        let workers = self.work.workers(object);
        if own && workers.iter().any(|run| run.thread == thread) && self.all_wait_for(&workers, object)? {
            return Ok(self.exhausted(&workers));
        }
        if let Some(run) = workers.iter().find(|run| run.thread != thread) {
            return Ok(Resolved::thread("executor", WhyCause::SlowTask, run.thread));
        }
        // Tasks of invokeAll are not submitted one by one: they begin when the wait has begun.
        let begun = self.work.running().into_iter();
        let begun = begun.filter(|(run, task)| task.is_none() && run.begun >= since && run.thread != thread);
        let Some((run, _)) = only(begun) else { return Ok(Resolved::unknown("executor")) };
        Ok(Resolved::thread("executor", WhyCause::SlowTask, run.thread))
    }

    pub(super) fn exhausted(&self, workers: &[Run]) -> Resolved<'_> {
        let culprit = workers.first().map_or_else(Culprit::default, |run| self.culprit(run.thread));
        Resolved::ended("future", WhyCause::PoolExhausted, culprit)
    }

    /// Whether all these threads wait for tasks of `queue` that no thread has begun, or for the queue itself.
    pub(super) fn all_wait_for(&self, workers: &[Run], queue: u32) -> Result<bool, ReadError> {
        for run in workers.iter().take(MAX_WORKERS) {
            let (_, wait) = self.link(run.thread)?;
            let Some(wait) = wait.filter(|wait| wait.kind == WaitKind::Park) else { return Ok(false) };
            let object = wait.lock as u32;
            let queued = self.queued_behind(object).is_some_and(|task| task.queue == queue);
            if !queued && object != queue {
                return Ok(false);
            }
        }
        Ok(!workers.is_empty())
    }

    /// A latch: the task that has not counted it down.
    fn latch(&self, thread: usize, since: u64, object: u32) -> Result<Resolved<'_>, ReadError> {
        let Counters { open, ended, alone, in_queue, known } = self.counters(thread, since, object);
        if let ([], [], [], [task]) = (&open[..], &ended[..], &alone[..], &in_queue[..]) {
            return Ok(Resolved { waits_for: "latch", ..self.queued(thread, task)? });
        }
        let pending = self.work.tasks().iter().any(|task| match task.state() {
            TaskState::Queued | TaskState::Unknown => task.submitted.thread == thread,
            TaskState::Suspended => true,
            _ => false,
        });
        let never = |culprit| Resolved::ended("latch", WhyCause::LatchNeverCountedDown, culprit);
        Ok(match (&open[..], &ended[..]) {
            ([run], rest) if known || rest.is_empty() => Resolved {
                task: self.work.running_on(run.thread).and_then(|(_, task)| task),
                ..Resolved::thread("latch", WhyCause::SlowTask, run.thread)
            },
            ([], [task]) if !pending && alone.is_empty() => {
                let thread = task.run.and_then(|run| self.thread_name(run.thread));
                let culprit = Culprit { thread, ..self.without_thread(task) };
                Resolved { task: Some(task), ..never(culprit) }
            }
            ([], []) if alone.len() == 1 && !pending => {
                let run = alone[0];
                never(Culprit {
                    thread: self.thread_name(run.thread),
                    task: self.method_name(run.method),
                    site: self.thread_started(run.thread).and_then(|started| self.site(&started)),
                })
            }
            ([], _) if !pending && object != 0 && (known || ended.is_empty()) => never(Culprit::default()),
            _ => Resolved::unknown("latch"),
        })
    }

    /// The tasks and runs that may count a latch down for which `thread` has waited since a moment.
    fn counters(&self, thread: usize, since: u64, object: u32) -> Counters<'_> {
        let counted: Vec<(usize, u64)> =
            self.work.at(object, ConcurrencyStep::CountedDown).map(|step| (step.thread, step.at)).collect();
        let has_counted = |run: &Run| {
            let until = run.ended.unwrap_or(u64::MAX);
            counted.iter().any(|(by, at)| *by == run.thread && (run.begun..=until).contains(at))
        };
        // What the code of a task does shows which of them matter.
        let counts = |run: &Run| run.does & Concurrency::COUNTS_DOWN != 0;
        let tasks = self.work.tasks();
        let running = self.work.running().into_iter().map(|(run, _)| run);
        let mut open: Vec<Run> = running.filter(|run| run.thread != thread && !has_counted(run)).collect();
        let ended = tasks.iter().filter(|task| {
            task.state() == TaskState::Finished
                && task.submitted.thread == thread
                && task.submitted.at < since
                && task.run.is_some_and(|run| !has_counted(&run))
        });
        let mut ended: Vec<&Task> = ended.collect();
        let alone: Vec<&Run> =
            self.work.ended_alone().iter().filter(|run| counts(run) && !has_counted(run)).collect();
        let in_queue = tasks.iter().filter(|task| {
            task.state() == TaskState::Queued && !task.is_stage && task.does & Concurrency::COUNTS_DOWN != 0
        });
        let in_queue: Vec<&Task> = in_queue.collect();
        let known = open.iter().any(counts)
            || ended.iter().any(|task| task.run.as_ref().is_some_and(counts))
            || !alone.is_empty()
            || !in_queue.is_empty();
        if known {
            open.retain(counts);
            ended.retain(|task| task.run.as_ref().is_some_and(counts));
        }
        Counters { open, ended, alone, in_queue, known }
    }
}

/// All that took more than they gave back, by what each took or gave. `None` if one gave more than it took: that is
/// a signal, and nothing is owned.
pub(super) fn holders(changes: impl Iterator<Item = (usize, i64)>) -> Option<impl Iterator<Item = usize>> {
    let mut balances: HashMap<usize, i64> = HashMap::new();
    changes.for_each(|(holder, change)| *balances.entry(holder).or_default() += change);
    let holds = |(holder, balance)| (balance > 0).then_some(holder);
    balances.values().all(|balance| *balance >= 0).then(|| balances.into_iter().filter_map(holds))
}

/// The tasks and runs that may count a latch down.
struct Counters<'w> {
    /// Runs that have not ended.
    open: Vec<Run>,
    /// Tasks that have ended.
    ended: Vec<&'w Task>,
    /// Runs that have ended and belong to no task.
    alone: Vec<&'w Run>,
    /// Tasks that no thread has begun.
    in_queue: Vec<&'w Task>,
    /// True if their code shows that they count a latch down.
    known: bool,
}
