//! Finished reports. Each is recorded as a section, and passed to the app's listener if there is one.
//!
//! The listener is the app's code: it may take any time, or throw. So it runs on a separate Java thread
//! (`anrscope-reports`), which waits in `next` and takes one report after the other. If the listener is
//! slow, the oldest waiting reports are dropped and counted; the recording contains all of them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use trace_format::section::SectionKind;
use trace_format::sections::timed;
use trace_rules::report::Issue;

use crate::files::worker;
use crate::monitors::envelope;
use crate::recorder;
use crate::time::clock;
use crate::unpoisoned::lock;

/// The most reports that wait for the listener.
const MAX_REPORTS: usize = 64;

#[derive(Debug, Default)]
struct Waiting {
    reports: VecDeque<String>,
    /// Whether the listener's thread takes them.
    wanted: bool,
    dropped: u64,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { reports: VecDeque::new(), wanted: false, dropped: 0 });
static CAME: Condvar = Condvar::new();

/// Records a report and passes it to the listener. Not on main: it reads files, locks and allocates.
pub(crate) fn report(issue: &Issue<'_>) {
    finished(envelope::wrap(issue));
}

/// Records a finished report and passes it to the listener; `json` is one object in Matrix's form
/// ([`trace_rules::report::Issue::to_json`]). Not on main: it locks and allocates.
pub(crate) fn finished(json: String) {
    worker::append(SectionKind::Issue, timed::encode(clock::boottime(), json.as_bytes()));
    hand_over(json);
}

/// Passes a text to the listener's thread: a report, which is one object of JSON; an event for the app's observers, which
/// starts with `!`; or a block that the thread writes to the app's log, which starts with neither a brace nor that.
pub(crate) fn hand_over(text: String) {
    let mut waiting = lock(&WAITING);
    if waiting.wanted {
        if waiting.reports.len() == MAX_REPORTS {
            waiting.reports.pop_front();
            waiting.dropped += 1;
            if waiting.dropped == 1 {
                recorder::notice(
                    "the app's listener is slow: it does not receive all reports, but the recording has them",
                );
            }
        }
        waiting.reports.push_back(text);
        CAME.notify_one();
    }
}

/// The next report; waits for one. `None` after [`stop`].
pub(crate) fn next() -> Option<String> {
    let mut waiting = lock(&WAITING);
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

/// Starts keeping reports for [`next`].
pub(crate) fn wanted() {
    lock(&WAITING).wanted = true;
}

/// Makes [`next`] return `None` once the waiting reports are taken.
pub(crate) fn stop() {
    lock(&WAITING).wanted = false;
    CAME.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_in_order_the_oldest_are_dropped_and_no_thread_waits_after_the_end() {
        finished("without a listener".into());
        wanted();
        let taker = std::thread::spawn(next);
        finished("first".into());
        assert_eq!(taker.join().unwrap().as_deref(), Some("first"));
        for n in 0..MAX_REPORTS + 3 {
            finished(n.to_string());
        }
        assert_eq!((next().as_deref(), lock(&WAITING).dropped), (Some("3"), 3));
        stop();
        let rest: Vec<_> = std::iter::from_fn(next).collect();
        assert_eq!((rest.len(), rest.last().map(String::as_str)), (MAX_REPORTS - 1, Some("66")));
    }
}
