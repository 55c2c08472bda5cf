//! The fate of each task: whether and when it left its queue, and who ran it.

use std::collections::HashMap;

use crate::facts::concurrency::{ConcurrentWork, Posts, TaskState};

/// The fate of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// A thread began to run it: when, and which.
    Started { at: u64, thread: usize },
    /// It left its queue at this moment or before: run or removed.
    Left(u64),
    /// It is still queued at the end.
    Queued,
    /// It is to run later, or when another stage is done, or the recording does not show what became of it.
    Unknown,
}

/// Returns the fate of each task.
pub(super) fn fates(work: &ConcurrentWork, posts: &Posts) -> Vec<Fate> {
    let tasks = work.tasks();
    // A handler's messages are dispatched in the order of their posts: what was posted before is gone.
    let mut dispatched: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for (index, task) in tasks.iter().enumerate() {
        if let Some((at, _, true)) = posts.dispatched(index)
            && !task.is_scheduled
        {
            dispatched.entry(task.queue).or_default().push((task.submitted.at, at));
        }
    }
    for of_handler in dispatched.values_mut() {
        of_handler.sort_unstable();
        // The earliest dispatch of all posts from here on.
        let mut first = u64::MAX;
        for (_, at) in of_handler.iter_mut().rev() {
            first = first.min(*at);
            *at = first;
        }
    }
    let fate = |(index, task): (usize, &crate::facts::concurrency::Task)| {
        if posts.thread(task.queue).is_some() {
            return match posts.dispatched(index) {
                Some((at, thread, true)) => Fate::Started { at, thread },
                Some((at, _, false)) => Fate::Left(at),
                None if task.is_scheduled => Fate::Unknown,
                None => {
                    let later = dispatched.get(&task.queue).map_or(&[][..], Vec::as_slice);
                    let next = later.partition_point(|(submitted, _)| *submitted <= task.submitted.at);
                    later.get(next).map_or(Fate::Queued, |(_, at)| Fate::Left(*at))
                }
            };
        }
        match (task.run, task.state()) {
            (Some(run), _) => {
                let at = work.entered(&run).map_or(run.begun, |(entered, _)| entered);
                Fate::Started { at: at.max(task.submitted.at), thread: run.thread }
            }
            (None, TaskState::Queued) if !task.is_stage && task.queue != 0 => Fate::Queued,
            _ => Fate::Unknown,
        }
    };
    tasks.iter().enumerate().map(fate).collect()
}
