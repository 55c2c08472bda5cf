//! Main's Java stack, asked for by the library and taken by a Java thread of the shims (`anrscope-sampler`), because no
//! thread of the library calls into Java. That thread waits in [`next`] and comes back with [`answer`].
//!
//! A request whose answer does not come within [`PATIENCE_NS`] is completed without one: a report without a stack is better
//! than none. Where there is no such thread at all, each is completed so at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::time::clock;

/// How long an answer is waited for: main's stack may be hard to get while the machine is busy or memory is short, ns.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Requests that wait at most. More than a few wait only if the thread hangs.
const MOST: usize = 16;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// A sample of main's stack; left out if anything else is asked for already, or nobody is there who would take it.
    Sample,
    /// Main's stack.
    Stack,
    /// And what the app knows of its memory and its messages.
    All,
}

/// Takes the answer, on whatever thread it comes.
type Then = Box<dyn FnOnce(Answer) + Send>;

/// What the Java thread found.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// When it began to look, ns.
    pub(super) at_ns: u64,
    /// Main's `Thread.State`.
    pub(super) state: String,
    /// A frame a line, innermost first.
    pub(super) stack: String,
    /// A debugger is attached.
    pub(super) debugger: bool,
    /// The Java heap in use, KiB.
    pub(super) dalvik_kib: u64,
    /// The native heap in use, KiB.
    pub(super) native_kib: u64,
    /// The messages that wait, as `Looper.dump` has them.
    pub(super) pending: String,
}

struct Request {
    id: u64,
    asked_ns: u64,
    taken_ns: u64,
    wanted: Wanted,
    then: Then,
}

struct State {
    waiting: VecDeque<Request>,
    taken: Vec<Request>,
    /// The Java thread is there.
    there: bool,
    last_id: u64,
}

static STATE: Mutex<State> =
    Mutex::new(State { waiting: VecDeque::new(), taken: Vec::new(), there: false, last_id: 0 });
static ASKED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for main's stack. Not on main. `then` gets the answer, an empty one if there is none in time.
pub(super) fn ask(wanted: Wanted, then: Then) {
    let now_ns = clock::boottime();
    expire(now_ns);
    let mut state = state();
    if wanted == Wanted::Sample && (!state.there || !state.waiting.is_empty() || !state.taken.is_empty()) {
        return;
    }
    if !state.there || state.waiting.len() >= MOST {
        drop(state);
        then(Answer { at_ns: now_ns, ..Answer::default() });
        return;
    }
    state.last_id += 1;
    let request = Request { id: state.last_id, asked_ns: now_ns, taken_ns: 0, wanted, then };
    state.waiting.push_back(request);
    ASKED.notify_one();
}

/// Completes what was asked for too long ago. The timer thread looks, too.
pub(super) fn expire(now_ns: u64) {
    let mut late = Vec::new();
    {
        let mut state = state();
        let State { waiting, taken, .. } = &mut *state;
        let old = |request: &Request| now_ns.saturating_sub(request.asked_ns) >= PATIENCE_NS;
        while waiting.front().is_some_and(old) {
            late.extend(waiting.pop_front());
        }
        while let Some(at) = taken.iter().position(old) {
            late.push(taken.swap_remove(at));
        }
    }
    for request in late {
        (request.then)(Answer { at_ns: now_ns, ..Answer::default() });
    }
}

/// The Java thread is there and will call [`next`].
pub(super) fn start() {
    state().there = true;
}

/// It is to end; what is asked for from now on has no stack.
pub(super) fn stop() {
    let waiting = {
        let mut state = state();
        state.there = false;
        std::mem::take(&mut state.waiting)
    };
    ASKED.notify_all();
    for request in waiting {
        (request.then)(Answer { at_ns: clock::boottime(), ..Answer::default() });
    }
}

/// The next request: its id, and whether everything is wanted or the stack alone. Waits for one; `None` after [`stop`].
pub(super) fn next() -> Option<(u64, bool)> {
    let mut state = state();
    loop {
        if let Some(mut request) = state.waiting.pop_front() {
            request.taken_ns = clock::boottime();
            let asked = (request.id, request.wanted == Wanted::All);
            state.taken.push(request);
            return Some(asked);
        }
        if !state.there {
            return None;
        }
        state = ASKED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The answer to the request with this id. One that was given up is forgotten.
pub(super) fn answer(id: u64, mut answer: Answer) {
    let request = {
        let mut state = state();
        let at = state.taken.iter().position(|request| request.id == id);
        at.map(|at| state.taken.swap_remove(at))
    };
    if let Some(request) = request {
        answer.at_ns = request.taken_ns;
        (request.then)(answer);
    }
}
