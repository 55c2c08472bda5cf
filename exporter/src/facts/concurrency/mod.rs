//! The recorded steps of concurrent work as facts: which tasks there are, who submitted them to which queue, who runs
//! them, and which future, lock or permit belongs to what.
//!
//! Identities are hash codes, which may collide and are reused: what was said last before the moment counts. Where more
//! than one task may be meant, none is.

mod around;
mod posts;
mod tasks;

use std::collections::HashMap;

use trace_format::event::{Concurrency, ConcurrencyStep};
use trace_format::{Event, ReadError, TextId};

use super::{Change, Facts};
use around::Around;
pub(crate) use around::{Run, Waiting};
pub(crate) use posts::{Posted, Posts};
use tasks::TaskIndex;
pub(crate) use tasks::{Submission, Suspension, Task, TaskCodes, TaskState};

/// Maximum number of steps kept, the newest ones.
const MAX_STEPS: usize = 1 << 18;

/// A step, on a thread of the recording.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Step {
    /// When it happened, BOOTTIME ns.
    pub(crate) at: u64,
    /// Index of the thread in the recording.
    pub(crate) thread: usize,
    pub(crate) what: Concurrency,
}

/// What is known at a moment.
#[derive(Debug, Default)]
pub(crate) struct ConcurrentWork {
    /// By time.
    steps: Vec<Step>,
    tasks: TaskIndex,
    /// What belongs to what, and of which class that is: a condition to its lock, a stage to the stage before it.
    whole: HashMap<u32, (u32, TextId)>,
    around: Around,
    /// How many steps were left out because there were too many.
    pub(crate) dropped: u64,
}

impl ConcurrentWork {
    /// Reads the steps of all threads up to the moment `at`. `codes` are the methods that are tasks' code.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn of(facts: &Facts<'_>, codes: &TaskCodes, at: u64) -> Result<Self, ReadError> {
        let recording = facts.recording;
        let mut around = Around::default();
        let mut steps = Newest::new(MAX_STEPS);
        for (thread, info) in recording.threads().iter().enumerate() {
            let mut around = around.thread(thread);
            let mut spans = facts.spans(info);
            while let Some((change, items)) = spans.change()? {
                if change.time().is_some_and(|time| time > at) {
                    break;
                }
                around.change(&change, items);
                if let Change::Event { time, event: Event::Concurrency(what) } = change {
                    steps.push(Step { at: time, thread, what: *what });
                }
            }
            around.finish(spans.open());
        }
        around.finish();
        let dropped = steps.dropped;
        // Of one thread in order, and threads' times are exact.
        steps.sort(|step| step.at);
        let steps = Vec::from(steps.items);
        let tasks = TaskIndex::of(&steps, around.calls.as_slice(), codes, recording);
        let parts = steps.iter().filter(|step| step.what.step == ConcurrencyStep::PartOf);
        let whole = parts.map(|step| (step.what.object, (step.what.other, step.what.other_class))).collect();
        Ok(Self { steps, tasks, whole, around, dropped })
    }

    /// Whether any step was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The waits of all threads, by thread and time.
    pub(crate) fn waits(&self) -> impl Iterator<Item = &Waiting> {
        self.around.waits.items.iter()
    }

    /// The call in which `run` begins: when it was entered, and its method; `None` if that was not recorded.
    pub(crate) fn entered(&self, run: &Run) -> Option<(u64, u32)> {
        self.around.entered.get(&(run.thread, run.begun)).copied()
    }

    /// Whether a step says that `run` begins; otherwise its outermost call does.
    pub(crate) fn is_step(&self, run: &Run) -> bool {
        let from = self.steps.partition_point(|step| step.at < run.begun);
        let same = self.steps[from..].iter().take_while(|step| step.at == run.begun);
        let is_start = |step: &Step| step.thread == run.thread && step.what.step == ConcurrencyStep::Started;
        same.into_iter().any(is_start)
    }

    /// What `object` belongs to, and its class.
    pub(crate) fn whole(&self, object: u32) -> Option<(u32, TextId)> {
        self.whole.get(&object).copied().filter(|(whole, _)| *whole != object && *whole != 0)
    }

    /// The steps of this kind at an object, by time.
    pub(crate) fn at(
        &self,
        object: u32,
        kind: ConcurrencyStep,
    ) -> impl DoubleEndedIterator<Item = &Step> + Clone {
        self.steps.iter().filter(move |step| step.what.step == kind && step.what.object == object)
    }

    /// The steps of this kind, by time.
    pub(crate) fn of_kind(&self, kind: ConcurrencyStep) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.what.step == kind)
    }

    /// The starts of threads, by time; the class is the thread's name.
    pub(crate) fn started_threads(&self) -> impl Iterator<Item = &Step> {
        self.of_kind(ConcurrencyStep::ThreadStarted)
    }

    /// Whether it is the last step of its thread.
    pub(crate) fn is_last_on_thread(&self, step: &Step) -> bool {
        self.steps.iter().rfind(|other| other.thread == step.thread) == Some(step)
    }

    /// The thread that was started with this object: the text that is its name, and when.
    pub(crate) fn thread_started(&self, object: u32) -> Option<(TextId, &Step)> {
        self.at(object, ConcurrencyStep::ThreadStarted).next_back().map(|step| (step.what.class, step))
    }
}

/// The newest of the pushed items.
#[derive(Debug)]
struct Newest<T> {
    items: std::collections::VecDeque<T>,
    most: usize,
    dropped: u64,
}

impl<T> Newest<T> {
    fn new(most: usize) -> Self {
        Self { items: Default::default(), most, dropped: 0 }
    }

    fn push(&mut self, item: T) {
        if self.items.len() == self.most {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }

    fn sort<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        self.items.make_contiguous().sort_by_key(key);
    }

    /// The items, if they were sorted.
    fn as_slice(&self) -> &[T] {
        self.items.as_slices().0
    }
}
