//! Main's Java stack, asked for by the library and taken by a Java thread of the shims (`anrscope-sampler`), because no
//! thread of the library calls into Java. That thread waits in [`next`] and comes back with [`answer`].
//!
//! A request whose answer does not come within [`PATIENCE_NS`] is completed without one: a report without a stack is better
//! than none. Where there is no such thread at all, each is completed so at once.
//!
//! `Thread.getStackTrace` makes ART stop main, and ART aborts the process if main does not stop in time (`docs/monitors.md` has the
//! times by API level). A main that ART counts as stopped already, in a wait or in native code, costs nothing; one that runs Java
//! and does not get to a suspend point is the danger. So main's state in `/proc` is read first: it is asked for no stack in
//! uninterruptible sleep (D), none while it runs (R) once it was slow to stop ([`SLOW_NS`]), and none at all for the rest of the process's
//! life after [`OVER_NS`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::main_thread::usage;
use crate::monitors::config::options::{Setting, is_enabled};
use crate::recorder;
use crate::time::clock;

/// How long an answer is waited for: main's stack may be hard to get while the machine is busy or memory is short, ns.
const PATIENCE_NS: u64 = 5_000_000_000;
/// A main that took this long to stop, ns, is asked for no stack while it runs. ART calls 5 ms long (AOSP 9,
/// `art/runtime/thread_list.cc`, `kLongThreadSuspendThreshold`).
const SLOW_NS: u64 = 200_000_000;
/// After this, ns, it is asked for none any more: a quarter of the shortest time after which ART aborts (4 s: AOSP main,
/// `art/runtime/thread_list.h`, `kDefaultThreadSuspendTimeout`).
const OVER_NS: u64 = 1_000_000_000;
/// How often, and how far apart, a main in uninterruptible sleep is looked at for a stack that a report needs.
const LOOKS: u32 = 10;
const LOOKS_APART: Duration = Duration::from_millis(5);

/// The longest that main took to stop for a stack, ns.
static SLOWEST: AtomicU64 = AtomicU64::new(0);

/// Requests that wait at most. More than a few wait only if the thread hangs.
const MOST: usize = 16;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
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
pub(crate) struct Answer {
    /// When it began to look, ns.
    pub(crate) at_ns: u64,
    /// Main's `Thread.State`.
    pub(crate) state: String,
    /// A frame a line, innermost first.
    pub(crate) stack: String,
    /// A debugger is attached.
    pub(crate) debugger: bool,
    /// The Java heap in use, KiB.
    pub(crate) dalvik_kib: u64,
    /// The native heap in use, KiB.
    pub(crate) native_kib: u64,
    /// The messages that wait, in the form of `Looper.dump`.
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
pub(crate) fn ask(wanted: Wanted, then: Then) {
    let now_ns = clock::boottime();
    expire(now_ns);
    let mut state = state();
    if wanted == Wanted::Sample
        && (is_over() || !state.there || !state.waiting.is_empty() || !state.taken.is_empty())
    {
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
pub(crate) fn expire(now_ns: u64) {
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
pub(crate) fn start() {
    state().there = true;
}

/// It is to end; what is asked for from now on has no stack.
pub(crate) fn stop() {
    let (waiting, taken) = {
        let mut state = state();
        state.there = false;
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
    /// Everything is wanted, and not the stack alone.
    pub(crate) all: bool,
    /// Main's stack may be taken.
    pub(crate) stack: bool,
}

/// The next request. Waits for one; `None` after [`stop`].
pub(crate) fn next() -> Option<Asked> {
    loop {
        let (id, wanted) = wait()?;
        let stack = may_stop(wanted);
        if stack || wanted != Wanted::Sample {
            return Some(Asked { id, all: wanted == Wanted::All, stack });
        }
        // There is no sample this time.
        take(id);
    }
}

fn wait() -> Option<(u64, Wanted)> {
    let mut state = state();
    loop {
        if let Some(mut request) = state.waiting.pop_front() {
            request.taken_ns = clock::boottime();
            let asked = (request.id, request.wanted);
            state.taken.push(request);
            return Some(asked);
        }
        if !state.there {
            return None;
        }
        state = ASKED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

fn take(id: u64) -> Option<Request> {
    let mut state = state();
    let at = state.taken.iter().position(|request| request.id == id)?;
    Some(state.taken.swap_remove(at))
}

/// Whether main may be stopped for its stack now. A report's stack is worth waiting for the end of a disk access.
fn may_stop(wanted: Wanted) -> bool {
    if is_over() || !is_enabled(Setting::Stacks) {
        return false;
    }
    let looks = if wanted == Wanted::Sample { 1 } else { LOOKS };
    for look in 0..looks {
        if look > 0 {
            std::thread::sleep(LOOKS_APART);
        }
        match process_state(&usage::main_stat()) {
            Some(b'D') => {}
            Some(b'R') => return SLOWEST.load(Ordering::Relaxed) < SLOW_NS,
            _ => return true,
        }
    }
    false
}

/// The state in `/proc/self/task/TID/stat`: field 3, behind a name that may hold anything (`man 5 proc`).
fn process_state(stat: &str) -> Option<u8> {
    stat.as_bytes().get(stat.rfind(')')? + 2).copied()
}

/// Main was too slow to stop: no stack is taken any more.
fn is_over() -> bool {
    SLOWEST.load(Ordering::Relaxed) >= OVER_NS
}

/// Main took this long to stop for its stack, ns.
fn stopped(took_ns: u64) {
    let before = SLOWEST.fetch_max(took_ns, Ordering::Relaxed);
    if took_ns >= OVER_NS && before < OVER_NS {
        let ms = (took_ns / 1_000_000).to_string();
        let parts = [
            "main took ",
            &ms,
            " ms to stop for its stack: no more stacks are taken in this process, since the system aborts one whose threads do not stop",
        ];
        recorder::notice(&parts.concat());
    }
}

/// The answer to the request with this id; main took `took_ns` to stop for its stack. A request that was given up is forgotten.
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
    fn the_state_is_behind_the_name_whatever_that_is() {
        assert_eq!(process_state("7 (a) R b) D 1 2"), Some(b'D'));
        assert_eq!(process_state("7 (main) R 1"), Some(b'R'));
        assert_eq!(process_state("7 (main"), None);
        assert_eq!(process_state("7 (main)"), None);
        let own = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        assert_eq!(process_state(&own), Some(b'R'), "who reads its own state runs");
    }
}
