//! Follows the owners of locks: who owns the lock that a thread waits for, who owns the lock that this thread
//! waits for, and so on, to a thread that does not wait for a lock, or to one already passed, which is a
//! deadlock.

use trace_format::event::{Wait, WaitKind};
use trace_format::{ReadError, Source, Thread};

use super::frame::{Frame, FrameKind};
use super::walk::{OpenFrame, stack_at, text};
use crate::answer::{CauseId, Doing, Owner, Seen, StackLine, doing, own_site};
use crate::facts::Facts;
use crate::model::Names;
use crate::words::thread_name;

/// Maximum length of a chain of owners.
const CHAIN: usize = 32;
/// Age from which a lock wait that is open at the end is a link of a deadlock, ns.
const STUCK: u64 = 1_000_000_000;

/// The recorded owners of a lock, and the names of a deadlock's threads if the chain returns to one already
/// passed.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) owners: Vec<Owner>,
    pub(super) cycle: Vec<String>,
}

/// The chain from the wait that `from` was in at the moment `at`.
pub(super) fn chain<S: Source>(
    facts: &Facts<'_, S>,
    names: &Names<'_>,
    from: &Thread,
    wait: Wait,
    at: u64,
) -> Result<Chain, ReadError> {
    let recording = facts.recording;
    let mut chain = Chain::default();
    let mut passed = vec![from];
    let mut wait = Some(wait);
    while let Some(waited) = wait.take().filter(|wait| wait.owner > 0 && chain.owners.len() < CHAIN) {
        let Some(thread) = recording.threads().iter().find(|thread| thread.uid == waited.owner) else {
            break;
        };
        if let Some(first) = passed.iter().position(|known| known.uid == thread.uid) {
            chain.cycle = passed[first..].iter().map(|thread| thread_name(thread)).collect();
            break;
        }
        let (stack, last_left) = stack_at(facts, names, thread, at)?;
        wait = stack.last().and_then(|open| open.wait).filter(|wait| wait.kind == WaitKind::Monitor);
        let lines = lines(&stack.iter().map(|open| open.frame.clone()).collect::<Vec<_>>(), at);
        chain.owners.push(Owner {
            thread: thread_name(thread),
            tid: thread.tid,
            lock: text(recording, waited.class),
            doing: doing_of(facts, &stack, last_left),
            root: own_site(&lines),
            stack: lines,
        });
        passed.push(thread);
    }
    Ok(chain)
}

/// What a thread with these open items does, in words.
fn doing_of<S: Source>(facts: &Facts<'_, S>, stack: &[OpenFrame], last_left: Option<String>) -> String {
    let Some(innermost) = stack.last() else {
        return match last_left {
            Some(method) => format!("in no recorded method; the last one it left was {method}"),
            None => "nothing of it was recorded".to_owned(),
        };
    };
    let class = |wait: &Wait| text(facts.recording, wait.class).unwrap_or_default();
    let found = match innermost.wait {
        Some(wait) => match wait.kind {
            WaitKind::Monitor => Doing::Of(CauseId::LockWait),
            WaitKind::Sleep => Doing::Of(CauseId::Sleep),
            WaitKind::Join => Doing::Of(CauseId::ThreadJoin),
            WaitKind::ObjectWait => Doing::Of(CauseId::ObjectWait),
            WaitKind::Park | WaitKind::Unknown(_) => Doing::Of(CauseId::FutureWait),
            WaitKind::Blocking => doing(std::iter::once(Seen::java(&class(&wait))), ""),
        },
        None => {
            let methods = stack.iter().rev().filter(|open| open.frame.kind == FrameKind::Method);
            doing(methods.map(|open| Seen::java(&open.frame.name)), "")
        }
    };
    found.words().to_owned()
}

/// Recorded calls as a stack, innermost first: methods, and the calls named by waits.
pub(super) fn lines(stack: &[Frame], at: u64) -> Vec<StackLine> {
    let shown = |frame: &&Frame| match frame.kind {
        FrameKind::Method => true,
        FrameKind::Wait => frame.name.contains('.') && !frame.name.contains(' '),
        _ => false,
    };
    let line = |frame: &Frame| {
        let source = frame.source.as_ref().map(|(file, line)| (file.as_str(), *line));
        StackLine::recorded(&frame.name, source, at.saturating_sub(frame.since))
    };
    stack.iter().rev().filter(shown).map(line).collect()
}

/// The threads that wait for each other's locks at the end of the recording, `main` first if it is one of them;
/// and whether `main` is in the cycle or waits for it.
pub(super) fn cycle_at_the_end<S: Source>(
    facts: &Facts<'_, S>,
    waits: &[crate::facts::LockWait],
    end: u64,
) -> (Vec<String>, bool) {
    let threads = facts.recording.threads();
    let open =
        waits.iter().filter(|wait| wait.duration == u64::MAX && end.saturating_sub(wait.begun) >= STUCK);
    let edges: Vec<(u32, u32)> =
        open.filter_map(|wait| Some((threads.get(wait.thread)?.uid, wait.owner))).collect();
    let mut cycles = trace_rules::locks::cycles(edges.iter().copied());
    let Some(main) = facts.main().map(|main| main.uid) else { return (Vec::new(), false) };
    // The chain of what main waits for.
    let mut reached = vec![main];
    while let Some((_, to)) = edges.iter().find(|(from, _)| Some(from) == reached.last())
        && !reached.contains(to)
    {
        reached.push(*to);
    }
    let of_main = cycles.iter().position(|cycle| cycle.iter().any(|uid| reached.contains(uid)));
    if cycles.is_empty() {
        return (Vec::new(), false);
    }
    let cycle = cycles.swap_remove(of_main.unwrap_or(0));
    let from = cycle.iter().position(|uid| *uid == main).unwrap_or(0);
    let name = |uid: &u32| threads.iter().find(|thread| thread.uid == *uid).map(thread_name);
    (cycle[from..].iter().chain(&cycle[..from]).filter_map(name).collect(), of_main.is_some())
}
