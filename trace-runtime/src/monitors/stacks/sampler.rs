//! Main's Java stack, requested by the library and taken by a Java thread of the shims
//! (`anrscope-sampler`), because threads of the library never call into Java. That thread waits in [`next`]
//! and returns with [`answer`].
//!
//! A request without an answer after [`ANSWER_TIMEOUT_NS`] is completed without a stack: a report without a
//! stack is better than no report. Without such a thread, each request is completed at once.
//!
//! `Thread.getStackTrace` makes ART stop main, and ART aborts the process if main does not stop in time
//! (`docs/monitors.md` has the times by API level). A main that ART counts as stopped already, in a wait or
//! in native code, costs nothing. The danger is a main that runs Java and does not reach a suspend point.
//! So main's state in `/proc` is read first. A stack is taken only in interruptible sleep (S), and while main
//! runs (R) unless it was slow to stop before ([`SLOW_NS`]). After [`OVER_NS`] none is taken for the rest of the
//! process's life. Where native stacks are captured, which need no suspension, they come first, and main was
//! slow once and for all after [`SLOW_NS`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::main_thread::usage;
use crate::monitors::config::options::{Setting, is_enabled};
use crate::monitors::native_stacks::capturing;
use crate::recorder;
use crate::time::clock;
use crate::unpoisoned::lock;

/// The longest wait for an answer, ns: taking main's stack may be slow while the machine is busy or memory
/// is short.
const ANSWER_TIMEOUT_NS: u64 = 5_000_000_000;
/// Once main took this long to stop, ns, no stack is taken while it runs. ART calls 5 ms long (AOSP 9,
/// `art/runtime/thread_list.cc`, `kLongThreadSuspendThreshold`).
const SLOW_NS: u64 = 200_000_000;
/// Once main took this long, ns, no stack is taken any more: a quarter of the shortest time after which ART
/// aborts (4 s: AOSP main, `art/runtime/thread_list.h`, `kDefaultThreadSuspendTimeout`).
const OVER_NS: u64 = 1_000_000_000;
/// How many times main's state is checked for a stack that a report needs, while main neither runs nor sleeps
/// interruptibly.
const STATE_CHECKS: u32 = 10;
const STATE_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The longest that main took to stop for a stack, ns.
static SLOWEST: AtomicU64 = AtomicU64::new(0);

/// The most requests that wait. More than a few wait only if the thread hangs.
const MAX_REQUESTS: usize = 16;

/// What is requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// A sample of main's stack; skipped while another request is pending, or without a Java thread.
    Sample,
    /// Main's stack.
    Stack,
    /// The stack, and what the app knows of its memory and its messages.
    All,
    /// A trace of the whole system. The thread passes it on and answers at once, with nothing.
    SystemTrace,
}

/// Receives the answer, on the thread that supplies it.
type Then = Box<dyn FnOnce(Answer) + Send>;

/// The Java thread's answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// When the Java thread took the request, ns.
    pub(crate) at_ns: u64,
    /// Main's `Thread.State`.
    pub(crate) state: String,
    /// One frame per line, innermost first.
    pub(crate) stack: String,
    /// Whether a debugger is attached.
    pub(crate) debugger: bool,
    /// The Java heap in use, KiB.
    pub(crate) dalvik_kib: u64,
    /// The native heap in use, KiB.
    pub(crate) native_kib: u64,
    /// The waiting messages, in the form of `Looper.dump`.
    pub(crate) pending: String,
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
    /// Whether the Java thread is running.
    running: bool,
    last_id: u64,
}

static STATE: Mutex<State> =
    Mutex::new(State { waiting: VecDeque::new(), taken: Vec::new(), running: false, last_id: 0 });
static ASKED: Condvar = Condvar::new();

/// Requests main's stack. Not on main. `then` receives the answer, an empty one if it does not come in
/// time.
pub(crate) fn ask(wanted: Wanted, then: Then) {
    let now_ns = clock::boottime();
    expire(now_ns);
    let mut state = lock(&STATE);
    if wanted == Wanted::Sample
        && (is_too_slow() || !state.running || !state.waiting.is_empty() || !state.taken.is_empty())
    {
        return;
    }
    if !state.running || state.waiting.len() >= MAX_REQUESTS {
        drop(state);
        then(Answer { at_ns: now_ns, ..Answer::default() });
        return;
    }
    state.last_id += 1;
    let request = Request { id: state.last_id, asked_ns: now_ns, taken_ns: 0, wanted, then };
    state.waiting.push_back(request);
    ASKED.notify_one();
}

/// Completes requests that have timed out. The timer thread calls this too.
pub(crate) fn expire(now_ns: u64) {
    let mut late = Vec::new();
    {
        let mut state = lock(&STATE);
        let State { waiting, taken, .. } = &mut *state;
        let old = |request: &Request| now_ns.saturating_sub(request.asked_ns) >= ANSWER_TIMEOUT_NS;
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

/// Notes that the Java thread is running and will call [`next`].
pub(crate) fn start() {
    lock(&STATE).running = true;
}

/// Ends the Java thread; later requests get no stack.
pub(crate) fn stop() {
    let (waiting, taken) = {
        let mut state = lock(&STATE);
        state.running = false;
        (std::mem::take(&mut state.waiting), std::mem::take(&mut state.taken))
    };
    ASKED.notify_all();
    for request in waiting.into_iter().chain(taken) {
        (request.then)(Answer { at_ns: clock::boottime(), ..Answer::default() });
    }
}

/// A request for the Java thread.
pub(crate) struct Asked {
    pub(crate) id: u64,
    /// Everything is requested, not only the stack.
    pub(crate) all: bool,
    /// Main's stack may be taken.
    pub(crate) stack: bool,
    /// A system trace is requested, and nothing else.
    pub(crate) system_trace: bool,
}

/// The next request. Waits for one; `None` after [`stop`].
pub(crate) fn next() -> Option<Asked> {
    loop {
        let (id, wanted) = wait()?;
        if wanted == Wanted::SystemTrace {
            take(id);
            return Some(Asked { id, all: false, stack: false, system_trace: true });
        }
        // The native stack first: it needs no suspension.
        capturing::settle();
        let stack = may_stop(wanted);
        if stack || wanted != Wanted::Sample {
            return Some(Asked { id, all: wanted == Wanted::All, stack, system_trace: false });
        }
        // This sample is skipped.
        take(id);
    }
}

fn wait() -> Option<(u64, Wanted)> {
    let mut state = lock(&STATE);
    loop {
        if let Some(mut request) = state.waiting.pop_front() {
            request.taken_ns = clock::boottime();
            let asked = (request.id, request.wanted);
            state.taken.push(request);
            return Some(asked);
        }
        if !state.running {
            return None;
        }
        state = ASKED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

fn take(id: u64) -> Option<Request> {
    let mut state = lock(&STATE);
    let at = state.taken.iter().position(|request| request.id == id)?;
    Some(state.taken.swap_remove(at))
}

/// Whether main may be stopped for its stack now. For a report's stack it is worth waiting for the end of a
/// disk access.
fn may_stop(wanted: Wanted) -> bool {
    if is_too_slow() || !is_enabled(Setting::Stacks) {
        return false;
    }
    let checks = if wanted == Wanted::Sample { 1 } else { STATE_CHECKS };
    for check in 0..checks {
        if check > 0 {
            std::thread::sleep(STATE_CHECK_INTERVAL);
        }
        match process_state(&usage::main_stat()) {
            Some(b'S') => return true,
            Some(b'R') => return SLOWEST.load(Ordering::Relaxed) < SLOW_NS,
            // Uninterruptible or stopped, for now; or gone, or unknown.
            _ => {}
        }
    }
    false
}

/// The state in `/proc/self/task/TID/stat`: field 3, after a name that may contain anything (`man 5 proc`).
fn process_state(stat: &str) -> Option<u8> {
    stat.as_bytes().get(stat.rfind(')')? + 2).copied()
}

/// Whether main was too slow to stop: no stack is taken any more.
fn is_too_slow() -> bool {
    SLOWEST.load(Ordering::Relaxed) >= over_ns()
}

/// The time to stop from which no stack is taken any more, ns.
fn over_ns() -> u64 {
    if capturing::is_enabled() { SLOW_NS } else { OVER_NS }
}

/// Notes how long main took to stop for its stack, ns.
fn stopped(took_ns: u64) {
    let before = SLOWEST.fetch_max(took_ns, Ordering::Relaxed);
    let over_ns = over_ns();
    if took_ns >= over_ns && before < over_ns {
        let ms = (took_ns / 1_000_000).to_string();
        let parts = [
            "main took ",
            &ms,
            " ms to stop for its stack: no more stacks are taken in this process, since the system aborts one whose threads do not stop",
        ];
        recorder::notice(&parts.concat());
    }
}

/// Completes the request with this id; main took `took_ns` to stop for its stack. The answer to a request
/// that has timed out is dropped.
pub(crate) fn answer(id: u64, mut answer: Answer, took_ns: u64) {
    stopped(took_ns);
    if let Some(request) = take(id) {
        answer.at_ns = request.taken_ns;
        (request.then)(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_found_after_any_thread_name() {
        assert_eq!(process_state("7 (a) R b) D 1 2"), Some(b'D'));
        assert_eq!(process_state("7 (main) R 1"), Some(b'R'));
        assert_eq!(process_state("7 (main"), None);
        assert_eq!(process_state("7 (main)"), None);
        let own = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        assert_eq!(process_state(&own), Some(b'R'), "who reads its own state runs");
    }
}
