//! The system's list of processes in error, asked for by the judge of SIGQUITs (`anrscope-polls`) and fetched by a Java
//! thread of the shims (`anrscope-errors`): a call to the system server, which takes its time just when an app hangs.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use native_signal::{ErrorState, ProcessInError};

use crate::sigquit::verdict;

/// One answer is waited for as long as this. The next poll asks again.
const PATIENCE: Duration = Duration::from_secs(5);
/// Entries that are taken at most: the system tells those of this user's apps.
const MOST: usize = 64;

struct State {
    /// The Java thread is there.
    there: bool,
    /// A list is wanted.
    asked: bool,
    /// What was told of it so far.
    entries: Vec<ProcessInError>,
    /// It is whole.
    whole: bool,
}

static STATE: Mutex<State> =
    Mutex::new(State { there: false, asked: false, entries: Vec::new(), whole: false });
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Source;

impl ErrorState for Source {
    fn processes_in_error(&mut self) -> Vec<ProcessInError> {
        let mut state = state();
        (state.asked, state.whole) = (true, false);
        CHANGED.notify_all();
        let waits = |state: &mut State| state.there && !state.whole;
        let waited = CHANGED.wait_timeout_while(state, PATIENCE, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.asked = false;
        if state.whole { std::mem::take(&mut state.entries) } else { Vec::new() }
    }
}

/// The Java thread is there: the judge asks from now on.
pub(crate) fn start() {
    state().there = true;
    verdict::set_error_state_source(Some(Box::new(Source)));
}

/// It is to end.
pub(crate) fn stop() {
    verdict::set_error_state_source(None);
    state().there = false;
    CHANGED.notify_all();
}

/// Waits until a list is wanted; false after [`stop`].
pub(crate) fn next() -> bool {
    let waits = |state: &mut State| state.there && (state.whole || !state.asked);
    let mut state = CHANGED.wait_while(state(), waits).unwrap_or_else(PoisonError::into_inner);
    state.entries.clear();
    state.there
}

/// An entry of the list.
pub(crate) fn entry(entry: ProcessInError) {
    let mut state = state();
    if state.entries.len() < MOST {
        state.entries.push(entry);
    }
}

/// The list is whole.
pub(crate) fn whole() {
    state().whole = true;
    CHANGED.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_fetched_for_whoever_asks_and_nobody_waits_after_the_end() {
        let in_error = ProcessInError { pid: 7, uid: 10_001, not_responding: true };
        state().there = true;
        let fetcher = std::thread::spawn(move || {
            let mut lists = 0;
            while next() {
                entry(in_error);
                whole();
                lists += 1;
            }
            lists
        });
        assert_eq!(Source.processes_in_error(), [in_error]);
        assert_eq!(Source.processes_in_error(), [in_error], "asked anew");
        state().there = false;
        CHANGED.notify_all();
        assert_eq!(fetcher.join().unwrap(), 2);
        assert_eq!(Source.processes_in_error(), []);
    }
}
