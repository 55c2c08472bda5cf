//! The system's list of processes in error. The judge of SIGQUITs (`anrscope-polls`) requests it, and a
//! Java thread of the shims (`anrscope-errors`) fetches it: this is a call to the system server, which is
//! slow exactly when an app hangs.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use native_signal::ProcessInError;

use crate::sigquit::verdict;
use crate::unpoisoned::lock;

/// The longest wait for one answer. The next poll asks again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The most entries that are kept; the system lists the processes of this user's apps.
const MAX_ENTRIES: usize = 64;

struct State {
    /// Whether the Java thread is running.
    running: bool,
    /// Whether a list is requested.
    requested: bool,
    /// The entries so far.
    entries: Vec<ProcessInError>,
    /// Whether the list is complete.
    complete: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { running: false, requested: false, entries: Vec::new(), complete: false });
static CHANGED: Condvar = Condvar::new();

/// The system's list; empty if the Java thread does not answer in time.
fn processes_in_error() -> Vec<ProcessInError> {
    let mut state = lock(&STATE);
    (state.requested, state.complete) = (true, false);
    CHANGED.notify_all();
    let waits = |state: &mut State| state.running && !state.complete;
    let waited = CHANGED.wait_timeout_while(state, ANSWER_TIMEOUT, waits);
    let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
    state.requested = false;
    if state.complete { std::mem::take(&mut state.entries) } else { Vec::new() }
}

/// Notes that the Java thread is running: the judge asks from now on.
pub(crate) fn start() {
    lock(&STATE).running = true;
    verdict::set_error_state_source(Some(Box::new(processes_in_error)));
}

/// Ends the Java thread.
pub(crate) fn stop() {
    verdict::set_error_state_source(None);
    lock(&STATE).running = false;
    CHANGED.notify_all();
}

/// Waits until a list is requested; false after [`stop`].
pub(crate) fn next() -> bool {
    let waits = |state: &mut State| state.running && (state.complete || !state.requested);
    let mut state = CHANGED.wait_while(lock(&STATE), waits).unwrap_or_else(PoisonError::into_inner);
    state.entries.clear();
    state.running
}

/// Adds an entry to the list.
pub(crate) fn entry(entry: ProcessInError) {
    let mut state = lock(&STATE);
    if state.entries.len() < MAX_ENTRIES {
        state.entries.push(entry);
    }
}

/// Completes the list.
pub(crate) fn complete() {
    lock(&STATE).complete = true;
    CHANGED.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_list_is_fetched_and_no_thread_waits_after_the_end() {
        let in_error = ProcessInError { pid: 7, uid: 10_001, not_responding: true };
        lock(&STATE).running = true;
        let fetcher = std::thread::spawn(move || {
            let mut lists = 0;
            while next() {
                entry(in_error);
                complete();
                lists += 1;
            }
            lists
        });
        assert_eq!(processes_in_error(), [in_error]);
        assert_eq!(processes_in_error(), [in_error], "requested anew");
        lock(&STATE).running = false;
        CHANGED.notify_all();
        assert_eq!(fetcher.join().unwrap(), 2);
        assert_eq!(processes_in_error(), []);
    }
}
