//! Finds the owners of the locks that the threads of a JVM wait for.
//!
//! HotSpot stops all threads before it dumps them (`VM_PrintThreads` is a safepoint operation), so a `locked`
//! line shows the owner at that very moment: such an owner is stated, not inferred. `Thread.dump_to_file`
//! visits one thread after another: only owners that the text names are stated.

use std::collections::HashMap;

use super::deadlock::Wait;
use crate::dump::graph::owners;
use crate::dump::lock_line::LockKind;
use crate::dump::model::{Section, ThreadForm};

/// Numbers the threads that have no number, and puts the owners into the lock lines.
pub(in crate::dump) fn resolve(section: &mut Section, waits: &[Wait], named: &[Wait]) {
    number(section);
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
