//! What main waited for, and who owned it.

use answers::answer::{is_own, parts};
use answers::waited::{Waited, serialize_call};
use serde::Serialize;
use trace_format::Thread;
use trace_format::event::{CallId, WaitKind};

#[cfg(test)]
use super::long_waits::WAIT_KINDS;
use super::long_waits::{serialize_kind, serialize_lock};
use super::open_item::{OpenItem, OpenItemKind, serialize_stack};
use crate::facts::Facts;
use crate::words::thread_name;

/// The wait that main was in during the hang.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Wait"))]
#[non_exhaustive]
pub struct WaitFact {
    /// The kind of wait.
    #[serde(serialize_with = "serialize_kind")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = WAIT_KINDS)))]
    pub kind: WaitKind,
    /// The time at which it began.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// The class of the lock, or of the object that is called.
    pub class: Option<String>,
    /// The call that waits, as in the program's source: `java.io.BufferedReader.readLine`; null if it is not known.
    #[serde(serialize_with = "serialize_call")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub call: CallId,
    /// The lock's identity hash in hexadecimal.
    // 0 if unknown.
    #[serde(serialize_with = "serialize_lock")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub lock: u64,
    /// The lock's owner.
    pub owner: Option<LockOwner>,
}

impl WaitFact {
    pub(super) fn waited(&self) -> Waited<'_> {
        Waited { kind: self.kind, call: self.call, class: self.class.as_deref() }
    }
}

/// A thread that owns a lock for which main waits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "WaitOwner"))]
#[non_exhaustive]
pub struct LockOwner {
    /// The thread's name.
    pub name: String,
    /// The thread's kernel id.
    pub tid: u32,
    /// The calls that were open, innermost first.
    // Outermost first here, as on every stack; the JSON has it the other way round.
    #[serde(serialize_with = "serialize_stack")]
    pub stack: Vec<OpenItem>,
    /// The method that the thread left last.
    pub last_left: Option<String>,
    /// The lock for which this thread waits.
    pub waits_for: Option<WaitedLock>,
}

/// A lock for which the owner of another one waits.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitedLock {
    /// The lock's class.
    // Without one, its identity.
    pub lock: String,
    /// The thread that owns it.
    pub owner: Option<String>,
}

impl LockOwner {
    /// `thread` with what is open on it, and the method that it left last.
    pub(super) fn new(
        facts: &Facts<'_>,
        thread: &Thread,
        stack: &[OpenItem],
        last_left: Option<String>,
    ) -> Self {
        let wait = stack.last().and_then(|open| open.wait).filter(|wait| wait.kind == WaitKind::Monitor);
        Self {
            name: thread_name(thread),
            tid: thread.tid,
            stack: stack.to_vec(),
            last_left,
            waits_for: wait.map(|wait| WaitedLock {
                lock: facts.text(wait.class).unwrap_or_else(|| format!("lock 0x{:x}", wait.lock)),
                owner: facts.thread(wait.owner).map(thread_name),
            }),
        }
    }
}

/// The innermost method in the app's own code.
fn own_method(stack: &[OpenItem]) -> Option<&OpenItem> {
    stack.iter().rev().find(|f| f.kind == OpenItemKind::Method && is_own(parts(&f.name).0))
}

/// What the owner does, in a few words.
pub(super) fn activity(owner: &LockOwner) -> String {
    if let Some(WaitedLock { lock, owner }) = &owner.waits_for {
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
