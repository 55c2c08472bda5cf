//! The chain as a sentence.

use std::fmt::Write;

use super::{TaskFact, Why, WhyCause, WhyLink};
use crate::words::rounded;

/// Maximum number of links said.
const MAX_SAID: usize = 6;

/// `com.example.Cart.load` as `Cart.load`.
fn short(name: &str) -> &str {
    let mut dots = name.rmatch_indices('.').map(|(at, _)| at);
    match (dots.next(), dots.next()) {
        (Some(_), Some(second)) => &name[second + 1..],
        _ => name,
    }
}

fn simple(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
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
    format!("{n}{ending}")
}

fn ago(at: u64, then: u64) -> String {
    format!("{} ago", rounded(at.saturating_sub(then)))
}

fn task(task: &TaskFact, at: u64) -> String {
    let mut text = format!("task {}", task.name.as_deref().map_or("of unknown code", short));
    match (&task.submitted_at, &task.submitted_by) {
        (Some(site), Some(by)) => {
            let _ = write!(text, ", submitted at {site} by {by} {}", ago(at, task.submitted));
        }
        _ => {
            let _ = write!(text, ", submitted {}", ago(at, task.submitted));
        }
    }
    if let Some(queue) = &task.queue {
        let class = queue.class.as_deref().map_or("its queue", simple);
        let _ = write!(text, "; it is {} in the queue of {class}", ordinal(queue.place));
        match &queue.workers[..] {
            [] => {}
            [one] => {
                let _ = write!(text, ", whose thread {one} is busy");
            }
            many => {
                let _ = write!(text, ", whose {} threads are busy", many.len());
            }
        }
    }
    text
}

/// What a thread waits for.
fn object(link: &WhyLink, at: u64) -> String {
    if let Some(known) = &link.task {
        let over = if link.waits_for == "latch" { "a latch that is probably counted down by " } else { "" };
        return format!("{over}{}", task(known, at));
    }
    let class = link.class.as_deref().map_or("an object", simple);
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
        ("blocking", _) => format!(
            "{} is in {} for {since}",
            link.thread,
            link.class.as_deref().map_or("a blocking call", short)
        ),
        _ => format!("{} waits for {}", link.thread, object(link, at)),
    }
}

pub(super) fn sentence(why: &Why, at: u64) -> String {
    let mut text = String::new();
    for (number, one) in why.links.iter().take(MAX_SAID).enumerate() {
        if number > 0 {
            text.push_str("; ");
        }
        text.push_str(&link(one, at));
    }
    let ending = match why.cause {
        Some(WhyCause::PoolExhausted) => "all threads of this pool wait for tasks of the same pool",
        Some(WhyCause::SelfMadeDeadlock) => "so these threads wait for each other",
        Some(WhyCause::LatchNeverCountedDown) => "all tasks that could count it down have ended",
        Some(WhyCause::LostWakeUp) => "it was notified before the wait began, and not since",
        Some(WhyCause::NeverSignalled) => "no recorded thread has notified it",
        Some(WhyCause::NeverCompleted) => "no recorded call has completed it",
        Some(WhyCause::EmptyQueue) => "no recorded thread has put anything into it",
        _ => "",
    };
    if !ending.is_empty() {
        let _ = write!(text, "; {ending}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_short() {
        assert_eq!(short("com.example.Cart.load"), "Cart.load");
        assert_eq!((short("Cart.load"), short("load")), ("Cart.load", "load"));
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 21, 112].map(ordinal),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"]
        );
    }
}
