//! What main waited for, and who kept it waiting.

use trace_format::event::{Wait, WaitKind};
use trace_format::{ReadError, Recording, Source, Thread};

use super::cause::WaitSum;
use super::walk::{Walk, text};
use super::{Hang, Holder, WaitFact};
use crate::model::{Names, clean};

/// Different things that one message waits for.
const MAX_WAIT_KINDS: usize = 256;

/// How people call a lock: by its class, else by its identity.
fn lock_name<S: Source>(recording: &Recording<S>, wait: &Wait) -> String {
    text(recording, wait.class).unwrap_or_else(|| format!("lock 0x{:x}", wait.lock))
}

/// The wait that began at `since`, as it was at the moment `at`.
pub(super) fn wait_fact<S: Source>(
    recording: &Recording<S>,
    names: &Names<'_>,
    wait: &Wait,
    since: u64,
    at: u64,
) -> Result<WaitFact, ReadError> {
    let find = |uid: u32| recording.threads().iter().find(|t| uid > 0 && t.uid == uid);
    let mut holder = None;
    if let Some(thread) = find(wait.owner) {
        let mut walk = Walk::new(recording, names);
        walk.run(thread, Some(at))?;
        let stack = walk.asked.take().unwrap_or_else(|| walk.snapshot());
        let waits_for = stack.last().and_then(|o| o.wait).filter(|w| w.kind == WaitKind::Monitor);
        holder = Some(Holder {
            name: thread_name(thread),
            tid: thread.tid,
            last_left: walk.last_left.map(|id| names.method(id).into_owned()),
            waits_for: waits_for.map(|w| (lock_name(recording, &w), find(w.owner).map(thread_name))),
            stack: stack.into_iter().map(|o| o.frame).collect(),
        });
    }
    Ok(WaitFact { kind: wait.kind, since, class: text(recording, wait.class), lock: wait.lock, holder })
}

/// The waits of the message that hung, by kind and by what was waited for.
pub(super) fn wait_sums<S: Source>(
    recording: &Recording<S>,
    walk: &Walk<'_, S>,
    hang: &Hang,
) -> Vec<WaitSum> {
    let mut sums: Vec<WaitSum> = Vec::new();
    for waited in walk.history.waits(hang.at).filter(|w| w.end > hang.since) {
        let what = text(recording, waited.wait.class);
        let total = waited.end.saturating_sub(waited.since.max(hang.since));
        if let Some(sum) = sums.iter_mut().find(|sum| sum.kind == waited.wait.kind && sum.what == what) {
            sum.count += 1;
            sum.total = sum.total.saturating_add(total);
            continue;
        }
        let owner = recording.threads().iter().find(|t| waited.wait.owner > 0 && t.uid == waited.wait.owner);
        let told = hang.wait.as_ref().and_then(|wait| wait.holder.as_ref());
        let holder = match told {
            Some(holder) if owner.is_none_or(|owner| owner.tid == holder.tid) => Some(doing(holder)),
            _ => owner.map(|owner| format!("\"{}\"", thread_name(owner))),
        };
        sums.push(WaitSum { kind: waited.wait.kind, what, holder, since: waited.since, count: 1, total });
        if sums.len() >= MAX_WAIT_KINDS {
            break;
        }
    }
    sums
}

fn doing(holder: &Holder) -> String {
    format!("\"{}\" (tid {}), {}", holder.name, holder.tid, super::text::doing(holder))
}

fn thread_name(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => clean(name).into_owned(),
        None if thread.main => "main".to_owned(),
        None => format!("thread {}", thread.tid),
    }
}
