//! Finds the owners of the locks that the threads of a JVM wait for.
//!
//! HotSpot stops all threads before it dumps them (`VM_PrintThreads` is a safepoint operation), so a `locked`
//! line shows the owner at that very moment: such an owner is stated, not inferred. `Thread.dump_to_file`
//! visits one thread after another: only owners that the text names are stated.

use std::collections::HashMap;

use super::deadlock::Wait;
use crate::dump::frame::Frame;
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
            && matches!(first, Some(Frame::Java(frame)) if !frame.place.native_method)
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
    let mut at_a_class: Vec<u32> = by.iter().map(|(_, tid)| *tid).collect();
    let mut unknown: Vec<u32> = Vec::new();
    for thread in &mut section.threads {
        let Some(tid) = thread.tid else { continue };
        let mut others = by.iter().filter(|(_, by)| *by != tid);
        if still(tid) && in_java(thread) {
            let only = others.clone().next().filter(|_| others.clone().count() == 1);
            match only {
                Some((class, by)) => thread.locks.push(LockLine::for_class(Some(class), Some(*by))),
                None => unknown.push(tid),
            }
        }
        for lock in thread.locks.iter_mut().filter(|lock| lock.owner.is_none()) {
            let Some(class) = lock.initialised() else { continue };
            lock.owner = others.find(|(of, _)| of == class).map(|(_, by)| *by);
        }
        if thread.locks.iter().any(is_for_class) && !at_a_class.contains(&tid) {
            at_a_class.push(tid);
        }
    }
    of_subclasses(section, &at_a_class, &unknown);
}

fn is_for_class(lock: &LockLine) -> bool {
    lock.kind == LockKind::WaitingForClass
}

/// Finds the thread that initialises a class whose initialiser is on no stack: it is still at the super class, so it runs the
/// initialiser of that or waits for it. Only one other thread may be at a class. In the agent's dump the class is `unknown`, too.
fn of_subclasses(section: &mut Section, at_a_class: &[u32], unknown: &[u32]) {
    for thread in &mut section.threads {
        let mut others = at_a_class.iter().filter(|tid| Some(**tid) != thread.tid);
        let (Some(only), None) = (others.next(), others.next()) else { continue };
        if thread.tid.is_some_and(|tid| unknown.contains(&tid)) {
            thread.locks.push(LockLine::for_class(None, Some(*only)));
        }
        let unowned = |lock: &&mut LockLine| lock.owner.is_none() && is_for_class(lock);
        thread.locks.iter_mut().filter(unowned).for_each(|lock| lock.owner = Some(*only));
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::dump::Dump;

    /// The owners of the classes that the threads of a dump wait for.
    fn owners(text: &str) -> Vec<Option<u32>> {
        let head = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n";
        let dump = Dump::read(Path::new("dump"), format!("{head}{text}").as_bytes()).unwrap();
        let threads = &dump.sections[0].threads;
        threads.iter().map(|thread| thread.locks.first().and_then(|lock| lock.owner)).collect()
    }

    fn thread(number: u32, frames: &[&str]) -> String {
        let mut text =
            format!("\n\"t-{number}\" #{number} prio=5 tid=0x{number:016x} nid=0x{number:x} runnable\n");
        text += "   java.lang.Thread.State: RUNNABLE\n";
        for frame in frames {
            text += &match frame.strip_prefix('-') {
                Some(class) => format!("\t- waiting on the Class initialization monitor for {class}\n"),
                None => format!("\tat {frame}(A.java:1)\n"),
            };
        }
        text
    }

    #[test]
    fn classes_whose_initialiser_has_not_begun_belong_to_the_thread_at_their_super_class() {
        let of_base = thread(12, &["a.Base.<clinit>", "-a.Derived", "a.Main.left"]);
        let of_derived = thread(13, &["a.Main.right", "-a.Base"]);
        assert_eq!(owners(&format!("{of_base}{of_derived}")), [Some(13), Some(12)]);
        let another = thread(14, &["a.Other.<clinit>", "a.Main.other"]);
        let found = owners(&format!("{of_base}{of_derived}{another}"));
        assert_eq!(found, [None, Some(12), None], "either may be at the super class");
    }
}
