//! The queue that a task waits in: whose it is, what its threads are in, and who filled it.

use std::collections::HashMap;

use trace_format::ReadError;
use trace_format::event::WaitKind;

use super::{BusyThreads, Chains, MAX_WORKERS, Posters, QueueFact};
use crate::facts::concurrency::{Run, Task};

/// Minimum number of tasks from one place that are worth a word.
const MANY: usize = 10;
/// How far back a storm of messages, and the tasks that make it, are searched, ns.
pub(in crate::report) const STORM_WINDOW: u64 = 5_000_000_000;

impl Chains<'_> {
    /// The place that posted most of the messages of main's queue: of the tasks that wait at the moment, and of those that main
    /// began in the seconds before it.
    pub(in super::super) fn storm(&self) -> Option<Posters> {
        let main = self.main()?;
        let of_main = |task: &&Task| task.run.is_some_and(|run| run.thread == main) && !task.is_coroutine;
        let queue =
            self.work.tasks().iter().filter(of_main).map(|task| task.queue).rfind(|queue| *queue != 0)?;
        let from = self.at.saturating_sub(STORM_WINDOW);
        let of_queue = self.work.tasks().iter().filter(|task| task.queue == queue);
        let tasks: Vec<&Task> =
            of_queue.filter(|task| task.run.is_none_or(|run| run.begun >= from)).collect();
        self.posters(&tasks)
    }

    pub(super) fn queue_fact(&self, task: &Task) -> Result<Option<QueueFact>, ReadError> {
        let Some(queued) = self.work.queued(task.queue) else { return Ok(None) };
        let before: Vec<&Task> =
            queued.iter().copied().filter(|other| other.submitted.at < task.submitted.at).collect();
        let runs = self.work.workers(task.queue);
        let workers = runs.iter().take(MAX_WORKERS).filter_map(|run| self.thread_name(run.thread));
        let workers: Vec<String> = workers.collect();
        Ok(Some(QueueFact {
            class: self.facts.text(task.queue_class),
            id: task.queue,
            place: before.len() + 1,
            pending: queued.len(),
            pool: pool(&workers),
            busy: self.busy(&runs)?,
            workers,
            posters: self.posters(&before),
        }))
    }

    /// What these threads are in, the most frequent in front.
    fn busy(&self, runs: &[Run]) -> Result<Vec<BusyThreads>, ReadError> {
        let mut all: Vec<BusyThreads> = Vec::new();
        for run in runs.iter().take(MAX_WORKERS) {
            let (link, wait) = self.link(run.thread)?;
            let Some(mut inside) = link.inside else { continue };
            if wait.is_some_and(|wait| wait.kind == WaitKind::Blocking) {
                inside = format!("{inside} > {}", link.call.name().unwrap_or("a blocking call"));
            }
            match all.iter_mut().find(|known| known.inside == inside) {
                Some(known) => {
                    known.threads += 1;
                    known.since = known.since.min(link.since);
                }
                None => all.push(BusyThreads { inside, threads: 1, since: link.since }),
            }
        }
        all.sort_by_key(|busy| std::cmp::Reverse(busy.threads));
        Ok(all)
    }

    /// The place where most of these tasks were submitted: at least half of them, and many.
    pub(super) fn posters(&self, tasks: &[&Task]) -> Option<Posters> {
        let mut places: HashMap<(u32, u16), usize> = HashMap::new();
        for task in tasks {
            *places.entry((task.submitted.method, task.submitted.line)).or_default() += 1;
        }
        let (place, count) = places.into_iter().max_by_key(|(place, count)| (*count, *place))?;
        if count < MANY || count * 2 < tasks.len() {
            return None;
        }
        let of_place = || tasks.iter().filter(|task| (task.submitted.method, task.submitted.line) == place);
        let first = of_place().next()?;
        let class = || self.facts.text(first.class);
        let by_one = of_place().all(|task| task.submitted.thread == first.submitted.thread);
        Some(Posters {
            task: self.method_name(first.method).or_else(class),
            site: self.site(&first.submitted),
            thread: self.thread_name(first.submitted.thread).filter(|_| by_one),
            count,
            of: tasks.len(),
        })
    }
}

/// Names of threads that several dispatchers of Kotlin share.
const SHARED: &str = "DefaultDispatcher-worker";

/// What the names of a pool's threads have in common, without the number: `io` of `io-1` and `io-2`. The threads of
/// the JDK's factory are called `pool-1-thread-1`.
fn pool(workers: &[String]) -> Option<String> {
    let trimmed = |name: &str| {
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', ' ', '#', '_']);
        name.strip_suffix("-thread").unwrap_or(name).to_owned()
    };
    let mut names = workers.iter().filter(|name| name.ends_with(|c: char| c.is_ascii_digit()));
    let first = trimmed(names.next()?);
    let is_pool = !first.is_empty() && first != SHARED;
    (is_pool && workers.iter().all(|name| trimmed(name) == first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::pool;

    #[test]
    fn a_pool_is_named_after_what_its_threads_names_have_in_common() {
        let of = |names: &[&str]| pool(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["io-1", "io-12"]).as_deref(), Some("io"));
        assert_eq!(of(&["pool-2-thread-1"]).as_deref(), Some("pool-2"));
        assert_eq!(of(&["DefaultDispatcher-worker-3"]), None);
        assert_eq!((of(&["io-1", "net-1"]), of(&["sync"]), of(&[]), of(&["7"])), (None, None, None, None));
    }
}
