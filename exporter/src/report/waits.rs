//! What main waited for, and who owned it.

use trace_format::event::{Wait, WaitKind};
use trace_format::{Recording, Source, Thread};

use super::open_item::{OpenItem, OpenItemKind};
use super::walk::{StackItem, text};
use crate::answer::{is_own, parts};
use crate::words::thread_name;

/// A wait and the owner of its lock.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct WaitFact {
    /// Its kind.
    pub kind: WaitKind,
    /// When it started.
    pub since: u64,
    /// The lock's class, or the name of the blocking call.
    pub class: Option<String>,
    /// The lock's identity, 0 if unknown.
    pub lock: u64,
    /// The lock's owner.
    pub owner: Option<LockOwner>,
}

/// The owner of a lock.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct LockOwner {
    /// Its name.
    pub name: String,
    /// Its tid.
    pub tid: u32,
    /// The open items on it at the moment of the report, outermost first.
    pub stack: Vec<OpenItem>,
    /// The last method that it left before that moment, if nothing is open.
    pub last_left: Option<String>,
    /// The lock that it waits for itself: class or identity, and owner.
    pub waits_for: Option<(String, Option<String>)>,
}

/// The name of a lock for people: its class, else its identity.
fn lock_name<S: Source + ?Sized>(recording: &Recording<S>, wait: &Wait) -> String {
    text(recording, wait.class).unwrap_or_else(|| format!("lock 0x{:x}", wait.lock))
}

impl LockOwner {
    /// `thread` with what is open on it, and the method that it left last.
    pub(super) fn new<S: Source + ?Sized>(
        recording: &Recording<S>,
        thread: &Thread,
        stack: &[StackItem],
        last_left: Option<String>,
    ) -> Self {
        let find = |uid: u32| recording.threads().iter().find(|t| uid > 0 && t.uid == uid);
        let wait = stack.last().and_then(|open| open.wait).filter(|wait| wait.kind == WaitKind::Monitor);
        Self {
            name: thread_name(thread),
            tid: thread.tid,
            stack: stack.iter().map(|open| open.item.clone()).collect(),
            last_left,
            waits_for: wait.map(|w| (lock_name(recording, &w), find(w.owner).map(thread_name))),
        }
    }
}

/// The innermost method in the app's own code.
fn own_method(stack: &[OpenItem]) -> Option<&OpenItem> {
    stack.iter().rev().find(|f| f.kind == OpenItemKind::Method && is_own(parts(&f.name).0))
}

/// What the owner does, in a few words.
pub(super) fn activity(owner: &LockOwner) -> String {
    if let Some((lock, owner)) = &owner.waits_for {
        let owner = owner.as_deref().map_or_else(String::new, |o| format!(", which \"{o}\" owns"));
        return format!("which itself waits for the lock of {lock}{owner}");
    }
    match (owner.stack.last(), &owner.last_left) {
        (Some(frame), _) => {
            // A call of the platform is less specific than its caller.
            let own = own_method(&owner.stack).filter(|own| own.name != frame.name);
            let under = own.map_or_else(String::new, |own| format!(", under {}", own.name));
            format!("which was in {}{under}", frame.name)
        }
        (None, Some(method)) => format!("in no recorded method; the last it left was {method}"),
        (None, None) => "of which nothing was recorded".to_owned(),
    }
}
