//! Main's priority and timer slack, checked after a slow message.

use std::sync::Mutex;

use trace_rules::report::Issue;
use trace_rules::tuning::{Tuned, Tuning};

use crate::files::worker;
use crate::monitors::config::options::{self, Setting};
use crate::monitors::reports;
use crate::unpoisoned::lock;

static KNOWN: Mutex<Option<Tuning>> = Mutex::new(None);

/// The calling thread's nice value and timer slack in ns. Two system calls; the kernel reports a thread's
/// slack to that thread only.
fn own() -> (i32, u64) {
    // SAFETY: both take numbers and touch no memory. 0 is the calling thread.
    unsafe {
        let nice = libc::getpriority(libc::PRIO_PROCESS as _, 0);
        let slack = libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0);
        (nice, u64::try_from(slack).unwrap_or(0))
    }
}

/// Notes main's values at the start. On main.
pub(crate) fn begin() {
    let (nice, slack_ns) = own();
    lock(&KNOWN).get_or_insert_with(|| Tuning::new(nice, slack_ns));
}

/// Reports changed values after a slow message. On main, at its end. `thread_stack` returns main's stack in
/// it, if one was taken.
pub(crate) fn check(thread_stack: impl FnOnce() -> String) {
    if !options::is_enabled(Setting::Tuning) {
        return;
    }
    let (nice, slack_ns) = own();
    let limit_ns = options::number(Setting::SlackNs);
    let mut known = lock(&KNOWN);
    let tuned = known.get_or_insert_with(|| Tuning::new(nice, slack_ns)).check(nice, slack_ns, limit_ns);
    drop(known);
    if tuned == (Tuned { nice: None, slack_ns: None }) {
        return;
    }
    let thread_stack = thread_stack();
    worker::then(Box::new(move || {
        if let Some(priority) = tuned.nice {
            reports::report(&Issue::PriorityModified { thread_stack: &thread_stack, priority });
        }
        if let Some(slack_ns) = tuned.slack_ns {
            reports::report(&Issue::TimerSlackModified { thread_stack: &thread_stack, slack_ns });
        }
    }));
}
