//! Finds the owners of the locks that the threads of a JVM wait for.
//!
//! HotSpot stops all threads before it dumps them (`VM_PrintThreads` is a safepoint operation), so a `locked`
//! line shows the owner at that very moment: such an owner is stated, not inferred. `Thread.dump_to_file`
//! visits one thread after another: only owners that the text names are stated.

use std::collections::HashMap;

use super::deadlock::Wait;
use crate::dump::frame::{Frame, Place};
use crate::dump::graph::owners;
use crate::dump::lock_line::{LockKind, LockLine};
use crate::dump::model::{Section, Thread, ThreadForm};

/// Numbers the threads that have no number, and puts the owners into the lock lines.
pub(in crate::dump) fn resolve(section: &mut Section, waits: &[Wait], named: &[Wait]) {
    number(section);
    initialisers(section);
    let mut by_name: HashMap<&str, Option<u32>> = HashMap::new();
    for thread in section.threads.iter().filter(|thread| thread.form != ThreadForm::HotSpotFile) {
        // Two threads have this name: which one is meant is unknown.
        if let Some(name) = thread.name.as_deref() {
            by_name.entry(name).and_modify(|tid| *tid = None).or_insert(thread.tid);
        }
    }
    let mut stated: HashMap<(u32, u64), u32> = HashMap::new();
    for wait in waits.iter().chain(named) {
        let tid = |name: &str| by_name.get(name).copied().flatten();
        if let (Some(waiter), Some(owner)) = (tid(&wait.waiter), tid(&wait.owner)) {
            stated.insert((waiter, wait.address), owner);
        }
    }
    let owners = owners(section);
    for thread in section.threads.iter_mut().filter(|thread| thread.form.is_like_hotspots()) {
        let (Some(tid), form) = (thread.tid, thread.form) else { continue };
        for lock in thread.locks.iter_mut().filter(|lock| lock.owner.is_none()) {
            let Some(address) = lock.address else { continue };
            if !matches!(lock.kind, LockKind::WaitingToLock | LockKind::ParkingFor) {
                continue;
            }
            let by_line = owners.get(&address).copied().flatten().filter(|_| form != ThreadForm::HotSpotFile);
            lock.owner = stated.get(&(tid, address)).copied().or(by_line.filter(|owner| *owner != tid));
        }
        if thread.form == ThreadForm::AndroidStudio
            && let Some(name) = &mut thread.name
            && let Some((bare, id)) = name.rsplit_once('@')
            && !id.is_empty()
            && id.bytes().all(|b| b.is_ascii_digit())
        {
            // Strip the debugger's object id, which only makes the name unique.
            *name = bare.to_owned();
        }
    }
}

/// Finds the threads that initialise the classes which others wait for. The agent's dump has no line for such a wait: there it is
/// a thread in Java code that neither waits for anything else nor computes, while one other thread initialises a class.
fn initialisers(section: &mut Section) {
    let in_java = |thread: &Thread| {
        let first = thread.frames.first();
        thread.locks.is_empty()
            && thread.state.as_deref() == Some("RUNNABLE")
            && matches!(first, Some(Frame::Java(frame)) if frame.place != Place::Native)
    };
    let initialised = |thread: &Thread| {
        let mut frames = thread.frames.iter().filter_map(|frame| match frame {
            Frame::Java(java) if java.method == "<clinit>" => Some(java.class.clone()),
            _ => None,
        });
        frames.next()
    };
    let by: Vec<(String, u32)> =
        section.threads.iter().filter_map(|thread| Some((initialised(thread)?, thread.tid?))).collect();
    if by.is_empty() {
        return;
    }
    let still = |tid: u32| section.standing.iter().any(|one| one.tid == tid && one.computes_in.is_none());
    for thread in &mut section.threads {
        let Some(tid) = thread.tid else { continue };
        let mut others = by.iter().filter(|(_, by)| *by != tid);
        if still(tid) && in_java(thread) {
            let only = others.clone().next().filter(|_| others.clone().count() == 1);
            thread.locks.extend(only.map(|(class, by)| LockLine::for_class(class, Some(*by))));
        }
        for lock in thread.locks.iter_mut().filter(|lock| lock.owner.is_none()) {
            let Some(class) = lock.initialised() else { continue };
            lock.owner = others.find(|(of, _)| of == class).map(|(_, by)| *by);
        }
    }
}

/// JDK 7 and Android have no number in the first line, or no unique one, but the graph needs it.
fn number(section: &mut Section) {
    let mut next = section.threads.iter().filter_map(|thread| thread.tid).max().unwrap_or(0);
    for thread in
        section.threads.iter_mut().filter(|thread| thread.form.is_like_hotspots() && thread.attached)
    {
        if thread.tid.is_none() {
            next = next.saturating_add(1);
            thread.tid = Some(next);
        }
    }
}
