//! Follows the owners of locks: who owns the lock that a thread waits for, who owns the lock that this thread
//! waits for, and so on, to a thread that does not wait for a lock, or to one already passed, which is a
//! deadlock.

use answers::answer::{Activity, FrameView, Owner, StackLine, classify, of_recorded, own_site};
use answers::dump::LockGraph;
use answers::waited::Waited;
use trace_format::event::{Wait, WaitKind};
use trace_format::{ReadError, Thread};

use super::walk::stack_at;
use super::{LockOwner, OpenItem, OpenItemKind};
use crate::facts::Facts;
use crate::model::Names;
use crate::words::thread_name;

/// Age from which a lock wait that is open at the end is a link of a deadlock, ns.
const MIN_STUCK_WAIT: u64 = 1_000_000_000;

/// The recorded owners of a lock, and the names of a deadlock's threads if the chain returns to one already
/// passed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Chain {
    /// The first owner, with all that is open on it.
    pub(super) first: Option<LockOwner>,
    pub(super) owners: Vec<Owner>,
    pub(super) cycle: Vec<String>,
}

/// The chain from the wait that `from` was in at the moment `at`.
pub(super) fn chain(
    facts: &Facts<'_>,
    names: &Names<'_>,
    from: &Thread,
    wait: Wait,
    at: u64,
) -> Result<Chain, ReadError> {
    let mut chain = Chain::default();
    let mut passed = vec![from];
    let mut wait = Some(wait);
    while let Some(waited) = wait.take().filter(|_| chain.owners.len() < LockGraph::MAX_CHAIN)
        && let Some(thread) = facts.thread(waited.owner)
    {
        let repeated = passed.iter().position(|known| known.uid == thread.uid);
        if let Some(first) = repeated {
            chain.cycle = passed[first..].iter().map(|thread| thread_name(thread)).collect();
            if chain.first.is_some() {
                break;
            }
        }
        let (stack, last_left) = stack_at(facts, names, thread, at)?;
        chain.first.get_or_insert_with(|| LockOwner::new(facts, thread, &stack, last_left.clone()));
        if repeated.is_some() {
            break;
        }
        wait = stack.last().and_then(|open| open.wait).filter(|wait| wait.kind == WaitKind::Monitor);
        let lines = lines(&stack, at);
        chain.owners.push(Owner {
            thread: thread_name(thread),
            tid: thread.tid,
            lock: facts.text(waited.class),
            activity: owner_activity(facts, &stack, last_left),
            root: own_site(&lines),
            stack: lines,
        });
        passed.push(thread);
    }
    Ok(chain)
}

/// What a thread with these open items does, in words.
fn owner_activity(facts: &Facts<'_>, stack: &[OpenItem], last_left: Option<String>) -> String {
    let Some(innermost) = stack.last() else {
        return match last_left {
            Some(method) => format!("in no recorded method; the last one it left was {method}"),
            None => "nothing of it was recorded".to_owned(),
        };
    };
    let found = match innermost.wait {
        Some(Wait { kind, call, class, .. }) => {
            let class = facts.text(class);
            Activity::Of(of_recorded(Waited { kind, call, class: class.as_deref() }))
        }
        None => {
            let methods = stack.iter().rev().filter(|open| open.kind == OpenItemKind::Method);
            classify(methods.map(|open| FrameView::java(&open.name)), "")
        }
    };
    found.words().to_owned()
}

/// Recorded calls as a stack, innermost first: methods, and the calls named by waits.
pub(super) fn lines(stack: &[OpenItem], at: u64) -> Vec<StackLine> {
    let shown = |frame: &&OpenItem| match frame.kind {
        OpenItemKind::Method => true,
        OpenItemKind::Wait => frame.name.contains('.') && !frame.name.contains(' '),
        _ => false,
    };
    let line = |frame: &OpenItem| {
        let source = frame.source.as_ref().map(|(file, line)| (file.as_str(), *line));
        StackLine::recorded(&frame.name, source, at.saturating_sub(frame.since))
    };
    stack.iter().rev().filter(shown).map(line).collect()
}

/// The threads that wait for each other's locks at the end of the recording, `main` first if it is one of them;
/// and whether `main` is in the cycle or waits for it.
pub(super) fn cycle_at_the_end(
    facts: &Facts<'_>,
    main: Option<&Thread>,
    waits: &[crate::facts::LockWait],
    end: u64,
) -> (Vec<String>, bool) {
    let threads = facts.recording.threads();
    let open = waits
        .iter()
        .filter(|wait| wait.duration == u64::MAX && end.saturating_sub(wait.begun) >= MIN_STUCK_WAIT);
    let edges: Vec<(u32, u32)> =
        open.filter_map(|wait| Some((threads.get(wait.thread)?.uid, wait.owner))).collect();
    let mut cycles = trace_rules::locks::cycles(edges.iter().copied());
    let Some(main) = main.map(|main| main.uid) else { return (Vec::new(), false) };
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
    let name = |uid: &u32| facts.thread(*uid).map(thread_name);
    (cycle[from..].iter().chain(&cycle[..from]).filter_map(name).collect(), of_main.is_some())
}
