//! The chain as a sentence.

use answers::words::{rounded, thousands};

use super::{BusyThreads, Posters, QueueFact, TaskFact, Why, WhyCause, WhyLink};

use crate::words::{short_class, short_method};

/// Maximum number of links said.
const MAX_SAID: usize = 6;
/// Minimum time in a method that is worth a word, ns.
const LONG: u64 = 100_000_000;
/// Maximum number of groups of threads said.
const MAX_GROUPS: usize = 3;

/// The end of a chain that returns to a thread.
const CIRCLE: &str = "so these threads wait for each other";

/// `com.example.Cart.load` as `Cart.load`; of a coroutine's code, its class.
fn short(name: &str) -> &str {
    if let Some(class) = name.strip_suffix(".invokeSuspend") {
        return short_class(class);
    }
    short_method(name)
}

/// `1st`, `2nd`, `23rd`.
fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", thousands(n as u64))
}

fn task(task: &TaskFact, at: u64) -> String {
    let kind = if task.is_coroutine { "coroutine" } else { "task" };
    let name = task.name.as_deref().map_or("of unknown code", short);
    let from = match (&task.submitted_at, &task.submitted_by) {
        (Some(site), Some(by)) => format!(" at {site} by {by}"),
        _ => String::new(),
    };
    let age = rounded(at.saturating_sub(task.submitted));
    let queue = task.queue.as_ref().map_or_else(String::new, |queue| waits_in(queue, at));
    let suspended = task.suspended_at.map_or_else(String::new, |at| format!("; it is suspended at a {at}"));
    format!("{kind} {name}, submitted{from} {age} ago{queue}{suspended}")
}

/// Says where a task waits, and what the threads of this pool are in.
fn waits_in(queue: &QueueFact, at: u64) -> String {
    let place = ordinal(queue.place);
    let queued = match (&queue.pool, queue.class.as_deref()) {
        (Some(pool), _) if pool.starts_with("pool") => format!("; it is {place} in {pool}"),
        (Some(pool), _) => format!("; it is {place} in pool {pool}"),
        (None, class) => {
            format!("; it is {place} in the queue of {}", class.map_or("its executor", short_class))
        }
    };
    let inside = |busy: &BusyThreads| {
        let (method, class) = busy.inside.split_once(" > ").unwrap_or((&busy.inside, ""));
        let class = if class.is_empty() { String::new() } else { format!(" > {}", short_class(class)) };
        let since = at.saturating_sub(busy.since);
        // Threads that run one short task after another are in each for a moment.
        let since = if since < LONG { String::new() } else { format!(" for {}", rounded(since)) };
        format!("{}{class}{since}", short(method))
    };
    let threads = queue.workers.len();
    let busy = match (&queue.busy[..], &queue.workers[..]) {
        (_, []) => String::new(),
        ([one], [thread]) => format!(", whose thread {thread} is in {}", inside(one)),
        ([one], _) if one.threads == threads => format!(", whose {threads} threads are in {}", inside(one)),
        ([], _) => format!(", whose {threads} threads are busy"),
        (all, _) => {
            let said = all.iter().take(MAX_GROUPS);
            let mut said: Vec<_> = said.map(|busy| format!("{} in {}", busy.threads, inside(busy))).collect();
            let rest: usize = all.iter().skip(MAX_GROUPS).map(|busy| busy.threads).sum();
            if rest > 0 {
                said.push(format!("{rest} elsewhere"));
            }
            format!(", whose {threads} threads are busy: {}", said.join(", "))
        }
    };
    let posters =
        queue.posters.as_ref().map_or_else(String::new, |of| format!("; {}", posted(of, "before it")));
    format!("{queued}{busy}{posters}")
}

/// `3,900 of the 4,000 tasks before it are Feed$Tick.run, submitted at Feed.java:88 by worker-1`.
pub(in super::super) fn posted(posters: &Posters, place: &str) -> String {
    let (count, of) = (thousands(posters.count as u64), thousands(posters.of as u64));
    let tasks = if posters.count == posters.of {
        format!("all {of} tasks {place}")
    } else {
        format!("{count} of the {of} tasks {place}")
    };
    let code = posters.task.as_deref().map_or("of one place", short);
    let site = posters.site.as_ref().map_or_else(String::new, |site| format!(" at {site}"));
    let thread = posters.thread.as_ref().map_or_else(String::new, |thread| format!(" by {thread}"));
    let submitted = if site.is_empty() && thread.is_empty() { "" } else { ", submitted" };
    format!("{tasks} are {code}{submitted}{site}{thread}")
}

/// What a thread waits for.
fn object(link: &WhyLink, at: u64) -> String {
    if let Some(known) = &link.task {
        let over = if link.waits_for == "latch" { "a latch that is probably counted down by " } else { "" };
        return format!("{over}{}", task(known, at));
    }
    let class = link.class.as_deref().map_or("an object", short_class);
    match (&link.owner, link.waits_for) {
        (Some(owner), "semaphore") => format!("a permit of a semaphore that {owner} has"),
        (Some(owner), _) => format!("the lock {class} that {owner} has"),
        (None, "thread") => "a thread to end".to_owned(),
        (None, kind @ ("latch" | "condition" | "queue" | "semaphore" | "executor" | "barrier")) => {
            format!("the {kind} {class}")
        }
        (None, _) => class.to_owned(),
    }
}

fn link(link: &WhyLink, at: u64) -> String {
    let since = rounded(at.saturating_sub(link.since));
    match (link.waits_for, &link.inside) {
        ("nothing", Some(inside)) => format!("{} is in {} for {since}", link.thread, short(inside)),
        ("nothing", None) => format!("{} is in no recorded method", link.thread),
        ("sleep", Some(inside)) => format!("{} sleeps in {} for {since}", link.thread, short(inside)),
        ("sleep", None) => format!("{} sleeps for {since}", link.thread),
        ("blocking", _) => {
            format!("{} is in {} for {since}", link.thread, link.call.name().map_or("a blocking call", short))
        }
        _ => format!("{} waits for {}", link.thread, object(link, at)),
    }
}

/// The parts of the chain, a link each.
pub(super) fn lines(why: &Why, at: u64) -> Vec<String> {
    let mut lines: Vec<String> = why.links.iter().take(MAX_SAID).map(|one| link(one, at)).collect();
    let ending = match why.cause {
        Some(WhyCause::PoolExhausted) => "all threads of this pool wait for tasks of the same pool",
        Some(WhyCause::SelfMadeDeadlock) if why.links.len() == 1 => {
            "only this thread runs such tasks, and it waits"
        }
        Some(WhyCause::SelfMadeDeadlock) => CIRCLE,
        None if why.cycle => CIRCLE,
        Some(WhyCause::LatchNeverCountedDown) => "all tasks that could count it down have ended",
        Some(WhyCause::LostWakeUp) => "it was notified before the wait began, and not since",
        Some(WhyCause::NeverSignalled) => "no recorded thread has notified it",
        Some(WhyCause::NeverCompleted) => "no recorded call has completed it",
        Some(WhyCause::EmptyQueue) => "no recorded thread has put anything into it",
        _ => "",
    };
    if let (Some(WhyCause::NoMoreWork), Some(putter)) = (why.cause, &why.culprit.thread) {
        lines.push(format!("only {putter} has put anything into it"));
    }
    if !ending.is_empty() {
        lines.push(ending.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_short() {
        assert_eq!(short("com.example.Cart.load"), "Cart.load");
        assert_eq!((short("Cart.load"), short("load")), ("Cart.load", "load"));
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 21, 2_112].map(ordinal),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "2,112th"]
        );
    }
}
