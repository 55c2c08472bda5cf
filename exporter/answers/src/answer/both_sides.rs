//! Threads that wait for each other at one object: those that put, and those that take.
//!
//! For example, a buffer wakes one thread where it should wake all, and the one that it wakes is of the wrong side.
//! Workers without work wait in one method, and those that wait for their end are one; so there are two threads or more
//! on each side.

use std::collections::{BTreeMap, HashSet};

use super::activity::FrameView;
use super::own::is_own;
use super::stack;
use crate::dump::{LockKind, Section, Thread};

/// The number of threads in a method that make a side.
const SIDE: usize = 2;

/// The numbers of these threads of a process.
pub(super) fn all(section: &Section) -> HashSet<u32> {
    let mut waiting: BTreeMap<u64, BTreeMap<(&str, &str), Vec<u32>>> = BTreeMap::new();
    for thread in &section.threads {
        if let (Some(tid), Some(object), Some(method)) = (thread.tid, waits_on(thread), method_of(thread)) {
            waiting.entry(object).or_default().entry(method).or_default().push(tid);
        }
    }
    waiting.retain(|_, methods| methods.values().filter(|threads| threads.len() >= SIDE).count() > 1);
    waiting.into_values().flat_map(BTreeMap::into_values).flatten().collect()
}

/// The object on which a thread waits without a limit of time to be notified: HotSpot may name it only where it was locked.
fn waits_on(thread: &Thread) -> Option<u64> {
    let of = |kind| thread.locks.iter().filter(move |lock| lock.kind == kind).find_map(|lock| lock.address);
    let is_waiting = thread.state.as_deref().is_some_and(|state| state.starts_with("WAITING (on object"));
    is_waiting.then(|| of(LockKind::WaitingOn).or_else(|| of(LockKind::Locked)))?
}

/// The program's innermost method.
fn method_of(thread: &Thread) -> Option<(&str, &str)> {
    stack::seen(thread).find_map(|frame| match frame {
        FrameView::Java { class, method, .. } if is_own(class) => Some((class, method)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::dump::Dump;

    /// The number of threads that wait for each other, of these in each method.
    fn found(methods: &[(&str, usize)]) -> usize {
        let mut text = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n".to_owned();
        let all = methods.iter().flat_map(|(method, count)| std::iter::repeat_n(method, *count));
        for (number, method) in all.enumerate() {
            text += &format!(
                "\n\"t-{number}\" #{} prio=5 os_prio=0 tid=0x{number} nid=0x{number} in Object.wait()\n\
                 \x20  java.lang.Thread.State: WAITING (on object monitor)\n\
                 \tat java.lang.Object.wait(java.base@17/Native Method)\n\
                 \t- waiting on <no object reference available>\n\
                 \tat shop.Buffer.{method}(Buffer.java:8)\n\
                 \t- locked <0x000000069ec1c788> (a shop.Buffer)\n",
                number + 9
            );
        }
        let dump = Dump::read(Path::new("dump"), text.as_bytes()).unwrap();
        super::all(dump.answer().unwrap()).len()
    }

    #[test]
    fn threads_of_two_sides_wait_for_each_other() {
        assert_eq!(found(&[("put", 2), ("take", 3)]), 5);
        assert_eq!(found(&[("take", 5)]), 0, "consumers without work");
        assert_eq!(found(&[("awaitEnd", 1), ("take", 3)]), 0, "one that waits for the end of the others");
    }
}
