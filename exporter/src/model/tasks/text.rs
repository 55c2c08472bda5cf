//! Names of tasks, executors and handlers, and the arguments that say who handed a task over.

use trace_format::Texts;

use super::super::Names;
use super::super::labels::known;
use super::super::sink::{Arg, ThreadInfo, Value};
use crate::facts::concurrency::Task;
use crate::words::short_method;

/// What ends the name of a pool in the names of its threads, after their number is cut off.
const ENDINGS: [&str; 8] = ["-thread-", "-worker-", "-Thread-", " #", "-", "_", "#", " "];

/// The pool of a thread with this name: `pool-1` for `pool-1-thread-2`; the name itself if it has no number.
pub(super) fn pool(thread: &str) -> &str {
    let group = thread.trim_end_matches(|c: char| c.is_ascii_digit());
    if group.is_empty() || group == thread {
        return thread;
    }
    ENDINGS
        .iter()
        .find_map(|ending| group.strip_suffix(ending))
        .filter(|pool| !pool.is_empty())
        .unwrap_or(thread)
}

/// The name of a thread for an instant or an argument.
pub(super) fn thread_name(threads: &[ThreadInfo], thread: usize) -> &str {
    threads.get(thread).and_then(|thread| thread.name.as_deref()).unwrap_or("unknown")
}

/// What is known of a task, as text.
pub(super) struct TaskText<'a> {
    /// The method that is its code, else its class.
    pub(super) name: String,
    by: &'a str,
    place: Option<String>,
    method: Option<String>,
}

impl<'a> TaskText<'a> {
    pub(super) fn of(task: &Task, names: Names<'_>, texts: &Texts, threads: &'a [ThreadInfo]) -> Self {
        let method = |id: u32| (id != 0).then(|| names.method(id).into_owned());
        let class = || known(texts, task.class).map(std::borrow::Cow::into_owned);
        let submitted = &task.submitted;
        Self {
            name: method(task.method).or_else(class).unwrap_or_else(|| "a task".to_owned()),
            by: thread_name(threads, submitted.thread),
            place: names.call_site(submitted.method, submitted.line),
            method: method(submitted.method),
        }
    }

    /// `Feed.load`: without package.
    pub(super) fn short(&self) -> &str {
        short_method(&self.name)
    }

    /// Where it was handed over, and by whom unless `here`.
    pub(super) fn submitted(&self, here: bool) -> impl Iterator<Item = Arg<'_>> {
        self.named(["submitted_by", "submitted_in", "submitted_at"], here)
    }

    /// As [`TaskText::submitted`], in the words for messages.
    pub(super) fn posted(&self) -> impl Iterator<Item = Arg<'_>> {
        self.named(["posted_by", "posted_in", "posted_at"], false)
    }

    fn named(&self, [by, method, place]: [&'static str; 3], here: bool) -> impl Iterator<Item = Arg<'_>> {
        let by = (!here).then(|| Arg::new(by, Value::Text(self.by)));
        let method = self.method.as_deref().map(|text| Arg::new(method, Value::Text(text)));
        let place = self.place.as_deref().map(|text| Arg::new(place, Value::Text(text)));
        by.into_iter().chain(method).chain(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::short_class;

    #[test]
    fn pools_are_named_after_their_threads() {
        let pools = [
            "pool-1-thread-12",
            "ForkJoinPool.commonPool-worker-3",
            "DiskIO",
            "Retrofit-7",
            "AsyncTask #2",
            "arch_disk_io_0",
            "42",
            "-1",
        ];
        let named = pools.map(pool);
        assert_eq!(
            named,
            [
                "pool-1",
                "ForkJoinPool.commonPool",
                "DiskIO",
                "Retrofit",
                "AsyncTask",
                "arch_disk_io",
                "42",
                "-1"
            ]
        );
        assert_eq!(
            (short_method("a.b.Feed.load"), short_method("load"), short_class("a.b.Pool")),
            ("Feed.load", "load", "Pool")
        );
    }
}
