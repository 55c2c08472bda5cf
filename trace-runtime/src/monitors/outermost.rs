//! Main's messages where the Looper tells nobody of them (no Printer may be set, or none is called): the outermost calls of main's record,
//! read from the ring. Main does nothing for it.
//!
//! The ticker, which runs while anybody records, has the worker look ten times a second, and once more before it goes to sleep; so an app
//! that is idle is not woken. A call that is open is watched by the same timer as a message: LAG, ANR, samples and snapshot follow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_rules::looper::{HISTORY, Outer, Outermost};

use super::open::{self, Open};
use super::options::{Number, is_on, number};
use super::{ground, slow, stacks};
use crate::files::worker;
use crate::main_thread::watch;
use crate::memory::mark::Mark;
use crate::memory::slice::Slice;

const MS: u64 = 1_000_000;

/// The worker was asked to look and has not yet.
static ASKED: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

struct State {
    rule: Outermost,
    /// How far main's record was read.
    mark: Option<Mark>,
    /// How far it was read before the open call began.
    open_mark: Option<Mark>,
    last: VecDeque<Outer>,
    slice: Slice,
}

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody tells of main's messages: from now on its outermost calls are taken for them. What is open now is not one of them.
pub(super) fn start() {
    let mut state = state();
    if state.is_none() {
        *state = Some(State {
            rule: Outermost::default(),
            mark: crate::mark_here(),
            open_mark: None,
            last: VecDeque::new(),
            slice: Slice::default(),
        });
        open::set_by_calls(true);
        watch::outermost(None);
    }
}

/// The Looper tells of them, or nobody wants to know.
pub(super) fn stop() {
    if state().take().is_some() {
        open::set_by_calls(false);
        watch::nobody_tells();
    }
}

/// Has the worker look. On the ticker's thread.
pub(crate) fn look_soon() {
    if open::is_by_calls() && !ASKED.swap(true, Ordering::AcqRel) {
        worker::then(Box::new(|| {
            ASKED.store(false, Ordering::Release);
            look();
        }));
    }
}

/// Reads what main wrote since the last look: as long as that takes, so not on main.
pub(super) fn look() {
    let mut slowest = Vec::new();
    {
        let mut state = state();
        let Some(state) = state.as_mut() else { return };
        state.read(&mut |told| slowest.push(told));
        let open = state.rule.open(0).map(|open| open.begun_ns);
        // With the lock held: the timer is told by one thread at a time.
        watch::outermost(open);
    }
    for (outer, lines) in slowest {
        let stack = stacks::of_lines(lines, outer.took_ns / MS);
        slow::tell(stack.cost_ms, &ground::scene_name(), &stack);
    }
}

/// The open call, looked at now.
pub(super) fn open() -> Option<Open> {
    if !open::is_by_calls() {
        return None;
    }
    look();
    let state = state();
    let state = state.as_ref()?;
    Some(Open { since_ns: state.rule.open(0)?.begun_ns, mark: state.open_mark })
}

/// The last `count` calls and the open one, oldest first, looked at now; the last is the open one if that is true.
pub(super) fn last(count: usize, now_ns: u64) -> (Vec<Outer>, bool) {
    look();
    let state = state();
    let Some(state) = state.as_ref() else { return (Vec::new(), false) };
    let open = state.rule.open(now_ns);
    let skip = state.last.len().saturating_sub(count.saturating_sub(usize::from(open.is_some())));
    (state.last.iter().skip(skip).copied().chain(open).collect(), open.is_some())
}

type Slow = (Outer, Vec<trace_rules::stack::Line>);

impl State {
    fn read(&mut self, slow: &mut dyn FnMut(Slow)) {
        let State { rule, mark, open_mark, last, slice } = self;
        let copied = mark.as_ref().is_some_and(|mark| crate::copy_since(mark, slice).is_ok());
        if !copied {
            // Main wrote more than its ring holds since: nobody knows what it is in.
            rule.forget();
            *mark = crate::mark_here();
            return;
        }
        let slow_ns = number(Number::SlowMs) * MS;
        let tell = is_on(Number::Slow);
        for call in slice.events().filter_map(stacks::method) {
            if rule.open(0).is_none() {
                *open_mark = *mark;
            }
            let Some((outer, tree)) = rule.push(call) else { continue };
            if last.len() == HISTORY {
                last.pop_front();
            }
            last.push_back(outer);
            if tell && outer.took_ns >= slow_ns {
                slow((outer, tree.lines));
            }
        }
        if let Some(end) = slice.end() {
            *mark = Some(end);
        }
    }
}

/// A line of the history.
pub(super) fn text(outer: &Outer) -> String {
    ["method ", &outer.id.to_string()].concat()
}

/// How long it took, ms.
pub(super) fn took_ms(outer: &Outer) -> u64 {
    outer.took_ns / MS
}

/// Whether main waits for its next message although a call is open: one that runs a loop of its own. Only where calls stand for messages: a
/// message around a nested loop is known as such.
pub(super) fn is_idle(stack: &str) -> bool {
    open::is_by_calls() && stack.starts_with("android.os.MessageQueue.nativePollOnce(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_10_the_history_is_bounded_and_the_open_call_is_its_last() {
        *state() = Some(State {
            rule: Outermost::default(),
            mark: None,
            open_mark: None,
            last: (0..HISTORY as u64).map(|n| Outer { id: 7, begun_ns: n, took_ns: 2 * MS }).collect(),
            slice: Slice::default(),
        });
        assert_eq!(last(3, 9).0.iter().map(|outer| outer.begun_ns).collect::<Vec<_>>(), [197, 198, 199]);
        if let Some(state) = state().as_mut() {
            state.rule.push(trace_rules::stack::Call::enter(9, 300 * MS));
        }
        // Without a recorder a look finds a gap: what was open is not known any more.
        let (all, open) = last(HISTORY, 400 * MS);
        assert_eq!((all.len(), open), (HISTORY, false));
        assert_eq!((text(&all[0]), took_ms(&all[0])), ("method 7".to_owned(), 2));
        *state() = None;
    }
}
