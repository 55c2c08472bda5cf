//! Main's outermost recorded calls, read from the ring, where they stand for its messages. Main does
//! nothing for it.
//!
//! * Where the Looper calls no Printer, or none may be set, they stand for all messages ([`start`]).
//! * Elsewhere they stand for what main does between two messages and no shim reports: callbacks of file
//!   descriptors, input of popups, native callbacks. The ring is read only then: while main is in a
//!   message, only the position moves on.
//!
//! The ticker, which runs while anything is recorded, makes the worker poll ten times a second, and once
//! more before it sleeps; so an idle app is not woken. The timer watches an open call like a message: LAG,
//! ANR, samples and snapshot follow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, TryLockError};

use trace_format::Event;
use trace_format::time::MS;
use trace_rules::looper::{HISTORY, Outer, Outermost};

use crate::files::worker;
use crate::main_thread::{message_source, message_watch};
use crate::memory::mark::Mark;
use crate::memory::slice::Slice;
use crate::monitors::app_state;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::looper::open_message::Open;
use crate::monitors::looper::{slow_messages, unknown};
use crate::monitors::stacks::calls;
use crate::recorder::Recorder;
use crate::time::clock::boottime;
use crate::unpoisoned::lock;
use crate::writing::events::record;
use crate::writing::thread::gettid;

/// Whether the worker was asked to poll and has not done so yet.
static ASKED: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

#[derive(Default)]
struct State {
    rule: Outermost,
    /// The position up to which main's record was read.
    mark: Option<Mark>,
    /// The call that began with the last word that was read, and when. It may still be withdrawn, and the
    /// mark is before it.
    newest: Option<(u64, u32)>,
    /// The position before the open call began.
    open_mark: Option<Mark>,
    /// The last calls, where they stand for all messages.
    last: VecDeque<Outer>,
    slice: Slice,
    /// When the open call began that the timer watches, between messages.
    watched: Option<u64>,
}

/// Starts looking for work between messages; messages are reported from now on.
pub(crate) fn between_messages() {
    lock(&STATE).get_or_insert_with(State::new);
}

/// Stops that; messages are not reported any more.
pub(crate) fn end() {
    if !message_source::is_by_calls()
        && let Some(watched) = lock(&STATE).take().and_then(|state| state.watched)
    {
        message_watch::work_ends(watched);
    }
}

/// Lets main's outermost calls stand for its messages, except for calls that are open now.
pub(crate) fn start() {
    let mut state = lock(&STATE);
    if !message_source::is_by_calls() {
        // A call that began in the last two ticks may still be withdrawn, and a mark is placed before it. A
        // typed event makes it final. On other threads than main this changes nothing, and such a call
        // counts as one that begins later.
        if Recorder::active().is_some_and(|recorder| gettid() == recorder.main_tid) {
            record(&Event::Time(boottime()).encode());
        }
        *state = Some(State::new());
        message_source::set_by_calls(true);
        message_watch::set_outermost_call(None);
    }
}

/// Stops that: the Looper reports messages, or reporting is off.
pub(crate) fn stop() {
    let mut state = lock(&STATE);
    if message_source::is_by_calls() {
        *state = message_source::is_reported().then(State::new);
        message_source::set_by_calls(false);
        message_watch::disable_message_tracking();
    }
}

/// Makes the worker poll. On the ticker's thread.
pub(crate) fn check_soon() {
    if (message_source::is_by_calls() || is_worth_a_poll()) && !ASKED.swap(true, Ordering::AcqRel) {
        worker::then(Box::new(|| {
            ASKED.store(false, Ordering::Release);
            poll();
        }));
    }
}

/// Whether main has written anything since the last poll, and is between messages or was in a call then.
/// Otherwise the position in its record moves on, and no word is read.
fn is_worth_a_poll() -> bool {
    let mut state = match STATE.try_lock() {
        Ok(state) => state,
        Err(TryLockError::Poisoned(state)) => state.into_inner(),
        // The worker is polling right now.
        Err(TryLockError::WouldBlock) => return false,
    };
    let (Some(state), Some(recorder)) = (state.as_mut(), Recorder::active()) else { return false };
    let here = recorder::mark_here();
    if state.rule.open(0).is_none() && !message_watch::is_between_messages(recorder, None) {
        state.mark = here;
        return false;
    }
    here.is_none() || here != state.mark
}

/// Reads what main wrote since the last poll. This may take long, so not on main.
pub(crate) fn poll() {
    let mut slowest = Vec::new();
    {
        let mut state = lock(&STATE);
        let Some(state) = state.as_mut() else { return };
        state.read(&mut |slow| slowest.push(slow));
        let open = state.rule.open(0).map(|open| open.begun_ns);
        // With the lock held, so that one thread at a time updates the timer.
        if message_source::is_by_calls() {
            message_watch::set_outermost_call(open);
        } else {
            state.watch(open);
        }
    }
    for (outer, lines) in slowest {
        let stack = calls::of_lines(lines, outer.took_ns / MS);
        slow_messages::report(stack.cost_ms, &app_state::scene_name(), &stack);
    }
}

/// The open call between messages that the timer watches.
pub(crate) fn open_call() -> Option<Outer> {
    let state = lock(&STATE);
    let state = state.as_ref()?;
    state.rule.open(0).filter(|call| state.watched == Some(call.begun_ns))
}

/// The open call, polled now.
pub(crate) fn open() -> Option<Open> {
    poll();
    let state = lock(&STATE);
    let state = state.as_ref()?;
    let since_ns = state.rule.open(0)?.begun_ns;
    let stands = message_source::is_by_calls() || state.watched == Some(since_ns);
    stands.then_some(Open { since_ns, mark: state.open_mark })
}

/// Whether the timer watches a call that began then, and not a message.
pub(crate) fn is_watched(since_ns: u64) -> bool {
    message_source::is_by_calls()
        || lock(&STATE).as_ref().is_some_and(|state| state.watched == Some(since_ns))
}

/// The last `count` calls and the open one, oldest first, polled now; the flag says whether the last one is
/// open.
pub(crate) fn last(count: usize, now_ns: u64) -> (Vec<Outer>, bool) {
    poll();
    let state = lock(&STATE);
    let Some(state) = state.as_ref() else { return (Vec::new(), false) };
    let open = state.rule.open(now_ns);
    let skip = state.last.len().saturating_sub(count.saturating_sub(usize::from(open.is_some())));
    (state.last.iter().skip(skip).copied().chain(open).collect(), open.is_some())
}

type Slow = (Outer, Vec<trace_rules::stack::Line>);

impl State {
    fn new() -> Self {
        State { mark: recorder::mark_here(), ..State::default() }
    }

    fn read(&mut self, slow: &mut dyn FnMut(Slow)) {
        let State { rule, mark, newest, open_mark, last, slice, watched } = self;
        let copied = mark.as_ref().is_some_and(|mark| recorder::copy_since(mark, slice).is_ok());
        if !copied {
            // Main has written more than its ring holds since: what it is in is unknown.
            rule.forget();
            *mark = recorder::mark_here();
            *newest = None;
            return;
        }
        let mut begun = newest.take();
        let slow_ns = number(Setting::SlowMs) * MS;
        let reports_slow = is_enabled(Setting::Slow);
        let between = !message_source::is_by_calls();
        let mut last_event = None;
        for event in slice.events() {
            last_event = Some(event);
            if let Some((time, id)) = begun.take() {
                if event == (time, Event::Enter(id)) {
                    // It was read before.
                    continue;
                }
                // A call so short that it is left out. It has ended.
                if let Some(call) = calls::method((time, Event::Exit(id))) {
                    drop(rule.push(call));
                }
            }
            if between && matches!(event.1, Event::MessageBegin(_) | Event::MessageEnd) {
                // What was open around a message is a part of one, or runs a nested loop.
                rule.forget();
            }
            let Some(call) = calls::method(event) else { continue };
            if rule.open(0).is_none() {
                *open_mark = *mark;
            }
            let Some((outer, tree)) = rule.push(call) else { continue };
            if !between {
                if last.len() == HISTORY {
                    last.pop_front();
                }
                last.push_back(outer);
            } else if *watched != Some(outer.begun_ns) {
                // Part of a message, which has its own report.
                continue;
            }
            if reports_slow && outer.took_ns >= slow_ns {
                slow((outer, tree.lines));
            }
        }
        if let Some((time, id)) = begun
            && let Some(call) = calls::method((time, Event::Exit(id)))
        {
            drop(rule.push(call));
        }
        *newest = match last_event {
            Some((time, Event::Enter(id))) => Some((time, id)),
            _ => None,
        };
        if let Some(end) = slice.end(newest.is_some()) {
            *mark = Some(end);
        }
    }

    /// Between messages: lets the timer watch the open call and no other.
    fn watch(&mut self, open: Option<u64>) {
        if let Some(before) = self.watched.filter(|before| open != Some(*before)) {
            message_watch::work_ends(before);
            self.watched = None;
        }
        let Some(begun) = open else { return };
        let Some(recorder) = Recorder::active() else { return };
        if !message_watch::is_between_messages(recorder, self.watched) {
            // A message began, so the call is no longer the outermost.
            self.rule.forget();
            return;
        }
        unknown::yields_to(begun);
        if self.watched.is_some() || !message_watch::work_began(begun) {
            return;
        }
        message_watch::work_is_known(begun);
        self.watched = Some(begun);
        // Main may have continued since its record was read. What it writes makes the ticker poll again,
        // which finds the end.
    }
}

/// The call as a line of the history.
pub(crate) fn text(outer: &Outer) -> String {
    ["method ", &outer.id.to_string()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded_and_ends_with_the_open_call() {
        *lock(&STATE) = Some(State {
            rule: Outermost::default(),
            newest: None,
            mark: None,
            open_mark: None,
            last: (0..HISTORY as u64).map(|n| Outer { id: 7, begun_ns: n, took_ns: 2 * MS }).collect(),
            slice: Slice::default(),
            watched: None,
        });
        message_source::set_by_calls(true);
        assert_eq!(last(3, 9).0.iter().map(|outer| outer.begun_ns).collect::<Vec<_>>(), [197, 198, 199]);
        if let Some(state) = lock(&STATE).as_mut() {
            state.rule.push(trace_rules::stack::Call::enter(9, 300 * MS));
        }
        // Without a recorder a poll finds a gap: what was open is unknown.
        let (all, open) = last(HISTORY, 400 * MS);
        assert_eq!((all.len(), open), (HISTORY, false));
        assert_eq!((text(&all[0]), all[0].took_ns / MS), ("method 7".to_owned(), 2));
        message_source::set_by_calls(false);
        *lock(&STATE) = None;
    }
}
