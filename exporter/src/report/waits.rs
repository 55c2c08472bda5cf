//! What main waited for, and who owned it.

use trace_format::event::{Wait, WaitKind};
use trace_format::{ReadError, Recording, Source};

use super::frame::{Frame, FrameKind};
use super::walk::{stack_at, text};
use crate::answer::{is_own, parts};
use crate::facts::Facts;
use crate::model::Names;
use crate::words::thread_name;

/// A wait and the owner of its lock.
#[derive(Clone, PartialEq, Debug)]
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
    pub holder: Option<Holder>,
}

/// The owner of a lock.
#[derive(Clone, PartialEq, Debug)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// Its tid.
    pub tid: u32,
    /// The open items on it at the moment of the report, outermost first.
    pub stack: Vec<Frame>,
    /// The last method that it left before that moment, if nothing is open.
    pub last_left: Option<String>,
    /// The lock that it waits for itself: class or identity, and owner.
    pub waits_for: Option<(String, Option<String>)>,
}

/// The name of a lock for people: its class, else its identity.
fn lock_name<S: Source>(recording: &Recording<S>, wait: &Wait) -> String {
    text(recording, wait.class).unwrap_or_else(|| format!("lock 0x{:x}", wait.lock))
}

/// The wait that started at `since`, as it was at the moment `at`.
pub(super) fn wait_fact<S: Source>(
    facts: &Facts<'_, S>,
    names: &Names<'_>,
    wait: &Wait,
    since: u64,
    at: u64,
) -> Result<WaitFact, ReadError> {
    let recording = facts.recording;
    let find = |uid: u32| recording.threads().iter().find(|t| uid > 0 && t.uid == uid);
    let mut holder = None;
    if let Some(thread) = find(wait.owner) {
        let (stack, last_left) = stack_at(facts, names, thread, at)?;
        let waits_for = stack.last().and_then(|o| o.wait).filter(|w| w.kind == WaitKind::Monitor);
        holder = Some(Holder {
            name: thread_name(thread),
            tid: thread.tid,
            last_left,
            waits_for: waits_for.map(|w| (lock_name(recording, &w), find(w.owner).map(thread_name))),
            stack: stack.into_iter().map(|o| o.frame).collect(),
        });
    }
    Ok(WaitFact { kind: wait.kind, since, class: text(recording, wait.class), lock: wait.lock, holder })
}

/// The innermost method in the app's own code.
fn own_method(stack: &[Frame]) -> Option<&Frame> {
    stack.iter().rev().find(|f| f.kind == FrameKind::Method && is_own(parts(&f.name).0))
}

/// What the owner does, in a few words.
pub(super) fn doing(holder: &Holder) -> String {
    if let Some((lock, owner)) = &holder.waits_for {
        let owner = owner.as_deref().map_or_else(String::new, |o| format!(", which \"{o}\" owns"));
        return format!("which itself waits for the lock of {lock}{owner}");
    }
    match (holder.stack.last(), &holder.last_left) {
        (Some(frame), _) => {
            // A call of the platform is less specific than its caller.
            let own = own_method(&holder.stack).filter(|own| own.name != frame.name);
            let under = own.map_or_else(String::new, |own| format!(", under {}", own.name));
            format!("which was in {}{under}", frame.name)
        }
        (None, Some(method)) => format!("in no recorded method; the last it left was {method}"),
        (None, None) => "of which nothing was recorded".to_owned(),
    }
}
