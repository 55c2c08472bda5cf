//! Finished reports: each goes into the recording as a section, and to the app's listener, if it has one.
//!
//! The listener is the app's code: it may take as long as it likes, or throw. So it runs on a Java thread of its own
//! (`anrscope-reports`), which waits in `next` and takes one report after the other. If the listener is slow the oldest
//! reports that wait are given up, and counted; in the recording is each of them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use trace_format::section::SectionKind;
use trace_format::sections::timed;
use trace_rules::report::Issue;

use crate::files::worker;
use crate::monitors::envelope;
use crate::recorder;
use crate::time::clock;

/// Reports that wait for the listener at most.
const MOST: usize = 64;

#[derive(Debug, Default)]
struct Waiting {
    reports: VecDeque<String>,
    /// Somebody takes them.
    wanted: bool,
    given_up: u64,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { reports: VecDeque::new(), wanted: false, given_up: 0 });
static CAME: Condvar = Condvar::new();

fn waiting() -> std::sync::MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A report is finished: into the recording, and to the listener. Not on main: it reads files, locks and allocates.
pub(crate) fn tell(issue: &Issue<'_>) {
    finished(envelope::wrap(issue));
}

/// A block for the app's log, written by the listener's thread. It begins with something else than a brace, which tells it
/// from a report there.
pub(crate) fn log(block: String) {
    hand_over(block);
}

/// A word for the app's observers; it begins with `!`.
pub(crate) fn notify(word: &str) {
    hand_over(word.to_owned());
}

/// A report is finished: `json` is one object in Matrix's form ([`trace_rules::report::Issue::to_json`]). Not on main: it
/// locks and allocates.
pub(crate) fn finished(json: String) {
    worker::append(SectionKind::Issue, timed::encode(clock::boottime(), json.as_bytes()));
    hand_over(json);
}

fn hand_over(json: String) {
    let mut waiting = waiting();
    if waiting.wanted {
        if waiting.reports.len() == MOST {
            waiting.reports.pop_front();
            waiting.given_up += 1;
            if waiting.given_up == 1 {
                recorder::notice(
                    "the app's listener is slow: it does not get all reports; they are in the recording",
                );
            }
        }
        waiting.reports.push_back(json);
        CAME.notify_one();
    }
}

/// The next report; waits until there is one. `None` after [`stop`].
pub(crate) fn next() -> Option<String> {
    let mut waiting = waiting();
    loop {
        if let Some(report) = waiting.reports.pop_front() {
            return Some(report);
        }
        if !waiting.wanted {
            return None;
        }
        waiting = CAME.wait(waiting).unwrap_or_else(PoisonError::into_inner);
    }
}

/// From now on reports are kept for [`next`].
pub(crate) fn wanted() {
    waiting().wanted = true;
}

/// Ends the waiting of [`next`], once what is there was taken.
pub(crate) fn stop() {
    waiting().wanted = false;
    CAME.notify_all();
}

/// Reports that the listener was too slow for.
#[cfg(test)]
fn given_up() -> u64 {
    waiting().given_up
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_in_order_the_oldest_are_given_up_and_nobody_waits_after_the_end() {
        finished("for nobody".into());
        wanted();
        let taker = std::thread::spawn(next);
        finished("first".into());
        assert_eq!(taker.join().unwrap().as_deref(), Some("first"));
        for n in 0..MOST + 3 {
            finished(n.to_string());
        }
        assert_eq!((next().as_deref(), given_up()), (Some("3"), 3));
        stop();
        let rest: Vec<_> = std::iter::from_fn(next).collect();
        assert_eq!((rest.len(), rest.last().map(String::as_str)), (MOST - 1, Some("66")));
    }
}
