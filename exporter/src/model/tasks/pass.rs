//! Tasks on their threads: instants between a thread's events, and arguments of calls, waits and messages.

use super::super::labels;
use super::super::sink::{Arg, Name, Sink, Value};
use super::super::thread::{MAX_DEPTH, Shared, ThreadPass};
use super::text::{TaskText, thread_name};
use super::{Mark, MarkKind, RunSlice, TaskPlan, WaitSlice};
use crate::ExportError;

/// What is left of a plan for a thread.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Upcoming<'a> {
    marks: &'a [Mark],
    runs: &'a [RunSlice],
}

impl<'a> Upcoming<'a> {
    pub(in crate::model) fn of(plan: &'a TaskPlan, thread: usize) -> Self {
        let marks = plan.marks.get(&thread).map_or(&[][..], Vec::as_slice);
        let runs = plan.runs.get(&thread).map_or(&[][..], Vec::as_slice);
        Self { marks, runs }
    }

    /// When the next instant is due.
    pub(in crate::model) fn next_mark(&self) -> u64 {
        self.marks.first().map_or(u64::MAX, |mark| mark.at)
    }

    /// When the call of the next task is entered.
    pub(in crate::model) fn next_run(&self) -> u64 {
        self.runs.first().map_or(u64::MAX, |run| run.entered)
    }
}

/// The arguments for a wait's slice.
pub(in crate::model) struct WaitArgs<'a> {
    slice: &'a WaitSlice,
    text: Option<TaskText<'a>>,
    executor: Option<&'a str>,
}

impl WaitArgs<'_> {
    /// The name of a wait for a task: `park for Feed.load`.
    pub(in crate::model) fn name(&self, wait: &str) -> Option<String> {
        self.text.as_ref().map(|text| format!("{wait} for {}", text.short()))
    }

    pub(in crate::model) fn args(&self) -> Vec<Arg<'_>> {
        let mut args: Vec<Arg<'_>> = self.slice.flows.iter().map(|flow| Arg::flow(*flow)).collect();
        let (Some(text), Some((_, state))) = (&self.text, self.slice.task) else { return args };
        args.push(Arg::new("task", Value::Text(&text.name)));
        args.push(Arg::new("task_state", Value::Text(state)));
        args.extend(text.submitted(false));
        args.extend(self.executor.map(|executor| Arg::new("executor", Value::Text(executor))));
        if let Some((place, length)) = self.slice.place {
            args.push(Arg::new("place_in_queue", Value::Uint(place)));
            args.push(Arg::new("queue_length", Value::Uint(length)));
        }
        args
    }
}

impl Shared<'_> {
    pub(super) fn task_text(&self, task: usize) -> TaskText<'_> {
        let known = &self.tasks.work.tasks()[task];
        TaskText::of(known, self.names, self.recording.texts(), &self.process.threads)
    }

    pub(super) fn executor(&self, task: usize) -> Option<&str> {
        self.tasks.labels.get(&self.tasks.work.tasks()[task].queue).map(String::as_str)
    }

    /// How long a task was queued, or scheduled, until it started, ns.
    fn queued(&self, task: usize) -> Option<(&'static str, u64)> {
        let known = &self.tasks.work.tasks()[task];
        let queued = self.tasks.started.get(&task)?.saturating_sub(known.submitted.at);
        let key = match known.is_scheduled || known.is_stage {
            true => "submitted_ms_before",
            false => "queued_ms",
        };
        Some((key, queued))
    }

    /// The arguments of what runs a task, or hands it over `here`.
    fn task_args<'t>(
        &'t self,
        task: usize,
        text: &'t TaskText<'t>,
        here: bool,
        flows: &[u64],
    ) -> Vec<Arg<'t>> {
        let mut args: Vec<Arg<'_>> = flows.iter().map(|flow| Arg::flow(*flow)).collect();
        args.push(Arg::new("task", Value::Text(&text.name)));
        args.extend(text.submitted(here));
        args.extend(self.executor(task).map(|executor| Arg::new("executor", Value::Text(executor))));
        args.extend(self.queued(task).map(|(key, queued)| Arg::new(key, Value::Millis(queued))));
        args
    }

    /// What is known of the wait with this number.
    pub(in crate::model) fn wait_args(&self, thread: usize, number: u64) -> Option<WaitArgs<'_>> {
        let slice = self.tasks.waits.get(&(thread, number))?;
        let task = slice.task.map(|(task, _)| task);
        let executor = task.and_then(|task| self.executor(task));
        Some(WaitArgs { slice, text: task.map(|task| self.task_text(task)), executor })
    }
}

impl<'a, K: Sink> ThreadPass<'a, '_, K> {
    /// Writes the instants that are due before `at`.
    pub(in crate::model) fn marks_until(&mut self, at: u64) -> Result<(), ExportError> {
        while let [mark, rest @ ..] = self.tasks.marks
            && mark.at < at
        {
            self.tasks.marks = rest;
            self.paused_until(mark.at)?;
            self.now = self.now.max(mark.at);
            self.mark(self.now, mark)?;
        }
        Ok(())
    }

    /// Writes the remaining instants, which are due at the end.
    pub(in crate::model) fn marks_at_end(&mut self, end: u64) -> Result<(), ExportError> {
        for mark in std::mem::take(&mut self.tasks.marks) {
            self.mark(end, mark)?;
        }
        Ok(())
    }

    fn mark(&mut self, at: u64, mark: &Mark) -> Result<(), ExportError> {
        if self.shown.len() >= MAX_DEPTH {
            self.out.tally.skipped += 1;
            return Ok(());
        }
        let shared = self.shared;
        let threads = &shared.process.threads;
        let name = match mark.kind {
            MarkKind::HandsOver(verb, task) => return self.task_mark(at, verb, task, true, &mark.flows),
            MarkKind::Runs(task) => return self.task_mark(at, "runs", task, false, &mark.flows),
            MarkKind::WaitsFor(task) => format!("waits for {}", shared.task_text(task).short()),
            MarkKind::WaitsForThread { thread, monitor } => {
                let owner = thread_name(threads, thread);
                if monitor { labels::waits_for(owner) } else { format!("waits for {owner}") }
            }
            MarkKind::AwaitedBy(thread) => {
                self.inside_contention(format!("awaited by {}", thread_name(threads, thread)))
            }
            MarkKind::Before(task) => {
                self.inside_contention(format!("busy while {} is queued", shared.task_text(task).short()))
            }
        };
        let flows: Vec<Arg<'_>> = mark.flows.iter().map(|flow| Arg::flow(*flow)).collect();
        self.out.instant(at, &name, &flows)
    }

    fn task_mark(
        &mut self,
        at: u64,
        verb: &str,
        task: usize,
        here: bool,
        flows: &[u64],
    ) -> Result<(), ExportError> {
        let text = self.shared.task_text(task);
        let args = self.shared.task_args(task, &text, here, flows);
        self.out.instant(at, &format!("{verb} {}", text.short()), &args)
    }

    /// The name of an instant, as Perfetto takes it inside a contended monitor.
    fn inside_contention(&self, name: String) -> String {
        if self.waiting.is_empty() { name } else { labels::in_contention(&name) }
    }

    /// Opens a call that is entered at `time`, shown at `at`, if a known task runs in it; returns true if one does.
    #[cold]
    pub(in crate::model) fn runs_task(&mut self, time: u64, at: u64, id: u32) -> Result<bool, ExportError> {
        while let [run, rest @ ..] = self.tasks.runs
            && run.entered < time
        {
            self.tasks.runs = rest;
        }
        let mut opened = false;
        if let [run, rest @ ..] = self.tasks.runs
            && run.entered == time
            && run.method.map_or(self.shown.is_empty(), |method| method == id)
        {
            self.tasks.runs = rest;
            opened = true;
            let shared = self.shared;
            let text = shared.task_text(run.task);
            let args = shared.task_args(run.task, &text, false, &run.flows);
            self.open(at, id, Name::Method(id, &shared.names), &args)?;
        }
        self.next_run = self.tasks.next_run();
        Ok(opened)
    }

    /// The post of the message with this number, which begins at `at`, if it is known.
    pub(in crate::model) fn posted(&self, at: u64, number: u64) -> Option<PostedBy<'a>> {
        let shared = self.shared;
        let (posted, flow) = *shared.tasks.messages.get(&(self.thread, number))?;
        let submitted = shared.tasks.work.tasks()[posted.task].submitted.at;
        let before = posted.exact.then(|| at.saturating_sub(submitted));
        Some(PostedBy { text: shared.task_text(posted.task), before, flow })
    }
}

/// Who posted a message.
pub(in crate::model) struct PostedBy<'a> {
    text: TaskText<'a>,
    /// How long before, ns, if this very post is known.
    before: Option<u64>,
    flow: Option<u64>,
}

impl PostedBy<'_> {
    pub(in crate::model) fn args(&self) -> impl Iterator<Item = Arg<'_>> {
        let before = self.before.map(|before| Arg::new("posted_ms_before", Value::Millis(before)));
        self.text.posted().chain(before).chain(self.flow.map(Arg::flow))
    }
}
