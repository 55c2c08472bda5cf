//! Threads that wait for a lock of readers and writers whose owner a dump does not name: the writer stands before the readers.
//!
//! For example, a thread that has read and wants to write waits for itself, and `main`, which only wants to read, waits
//! behind it.

use std::collections::BTreeMap;

use super::activity::FrameView;
use super::stack;
use crate::dump::{LockGraph, Section, Thread};

/// Threads that wait for a lock whose owner nothing shows: who comes to read waits until the writer before it has written.
#[derive(Debug)]
pub(super) struct Queue<'a> {
    pub(super) writer: &'a Thread,
    readers: Vec<&'a Thread>,
}

impl<'a> Queue<'a> {
    /// Each queue of one writer and its readers.
    pub(super) fn all(section: &'a Section, graph: &LockGraph) -> Vec<Self> {
        let mut waiting: BTreeMap<u64, (Vec<&Thread>, Vec<&Thread>)> = BTreeMap::new();
        for thread in &section.threads {
            let is_owned = thread.tid.is_some_and(|tid| graph.edge_from(tid).is_some());
            if let Some(address) = thread.parked_for().filter(|_| !is_owned)
                && let Some(to_write) = to_write(thread)
            {
                let (writers, readers) = waiting.entry(address).or_default();
                if to_write { writers.push(thread) } else { readers.push(thread) }
            }
        }
        let queue = |(writers, readers): (Vec<&'a Thread>, Vec<&'a Thread>)| match writers[..] {
            [writer] if !readers.is_empty() => Some(Self { writer, readers }),
            _ => None,
        };
        waiting.into_values().filter_map(queue).collect()
    }

    /// True if a thread comes to read.
    pub(super) fn is_reader(&self, thread: &Thread) -> bool {
        self.readers.iter().any(|reader| std::ptr::eq(*reader, thread))
    }
}

/// True for a thread that waits for a lock of readers and writers to write, false if to read.
fn to_write(thread: &Thread) -> Option<bool> {
    stack::seen(thread).find_map(|frame| match frame {
        FrameView::Java { class, method: "lock" | "lockInterruptibly", .. } => {
            match class.strip_prefix("java.util.concurrent.locks.ReentrantReadWriteLock$")? {
                "WriteLock" => Some(true),
                "ReadLock" => Some(false),
                _ => None,
            }
        }
        FrameView::Java { class: "java.util.concurrent.locks.StampedLock", method, .. } => match method {
            "writeLock" | "writeLockInterruptibly" => Some(true),
            "readLock" | "readLockInterruptibly" => Some(false),
            _ => None,
        },
        _ => None,
    })
}
