//! Work of main outside of messages that neither a shim nor its own record shows: code that is not
//! instrumented, in a callback of a file descriptor or of a view with a window of its own.
//!
//! The kernel says whether main is in its Looper's poll ([`poll`]). If main is outside of it while no
//! message is open, that is a suspicion. The timer watches it like a message, from the age at which
//! messages are sampled, and checks it every 20 ms: one check that finds main in the poll ends it.
//! Otherwise one sample of main's stack decides: unless it waits in `nativePollOnce`, this is a unit of
//! work, timed from when it was first seen.
//!
//! # What a check costs, and when none is made
//! A check opens, reads and closes one file of /proc, which takes some microseconds on a thread of the
//! library; main does nothing for it. Checks happen when such a thread is awake anyway: at each poll of the
//! timer, up to two seconds after the last message, and once a second during the ticker's heartbeat, up to
//! half a minute after the last event. An app that has been idle for longer is neither checked nor woken; a
//! hang in it is found by SIGQUIT alone.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::main_thread::{message_source, message_watch, poll, usage};
use crate::monitors::looper::open_message::Open;
use crate::monitors::stacks::sampler::{self, Answer, Wanted};
use crate::recorder::Recorder;

/// Its name in snapshots and the history.
pub(crate) const NAME: &str = "unknown work outside of messages";

/// The interval between checks of the heartbeat, ns.
const HEARTBEAT_INTERVAL_NS: u64 = 1_000_000_000;

/// When main was first seen outside of the poll; 0 without a suspicion.
static SINCE: AtomicU64 = AtomicU64::new(0);
/// The same time, once main's stack has confirmed it.
static CONFIRMED: AtomicU64 = AtomicU64::new(0);
/// The same time, once main's stack was requested.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// Main's number of context switches when its stack last showed it in the poll: while that is unchanged,
/// main has not run since.
static IDLE_AT: AtomicU64 = AtomicU64::new(u64::MAX);
/// When the heartbeat last checked.
static CHECKED_AT: AtomicU64 = AtomicU64::new(0);

/// Checks a main that is in no message, at `now_ns`. On the timer's thread.
pub(crate) fn check(recorder: &Recorder, now_ns: u64) {
    let free = SINCE.load(Ordering::Relaxed) == 0 && message_source::takes_units();
    if !free
        || !message_watch::is_between_messages(recorder, None)
        || poll::is_polling(recorder.main_tid) != Some(false)
    {
        return;
    }
    if usage::switches_of(recorder.main_tid) == Some(IDLE_AT.load(Ordering::Relaxed)) {
        return;
    }
    // Before the timer can see it; and of two threads that check at once, one.
    let is_first = SINCE.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if is_first && !message_watch::suspicion_began(now_ns) {
        let _ = SINCE.compare_exchange(now_ns, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Calls [`check`] at most once a second. On the ticker's thread.
pub(crate) fn heartbeat(recorder: &Recorder, now_ns: u64) {
    if now_ns.saturating_sub(CHECKED_AT.load(Ordering::Relaxed)) >= HEARTBEAT_INTERVAL_NS {
        CHECKED_AT.store(now_ns, Ordering::Relaxed);
        check(recorder, now_ns);
    }
}

/// True if main's stack has confirmed that work began then. A suspicion must not be reported.
pub(crate) fn is_confirmed(since_ns: u64) -> bool {
    CONFIRMED.load(Ordering::Relaxed) == since_ns
}

/// Checks the suspicion that the timer has watched since then, once it is old enough to be decided. Returns whether it is
/// work; not if main is idle, nor while it is undecided. On the timer's thread.
pub(crate) fn is_work(recorder: &Recorder, since_ns: u64) -> bool {
    if SINCE.load(Ordering::Relaxed) != since_ns {
        message_watch::work_ends(since_ns);
        return false;
    }
    if poll::is_polling(recorder.main_tid) != Some(false) {
        ends(since_ns);
        return false;
    }
    if ASKED.swap(since_ns, Ordering::Relaxed) != since_ns {
        let switches = usage::switches_of(recorder.main_tid);
        let then = move |answer: Answer| decide(since_ns, switches, &answer);
        sampler::ask(Wanted::Stack, Box::new(then));
    }
    is_confirmed(since_ns)
}

/// Decides by main's stack. Without a stack nothing is claimed.
fn decide(since_ns: u64, switches: Option<u64>, answer: &Answer) {
    if SINCE.load(Ordering::Relaxed) != since_ns {
        return;
    }
    if answer.stack.is_empty() || poll::is_innermost(&answer.stack) {
        IDLE_AT.store(switches.unwrap_or(u64::MAX), Ordering::Relaxed);
        ends(since_ns);
        return;
    }
    CONFIRMED.store(since_ns, Ordering::Relaxed);
    message_watch::work_is_known(since_ns);
}

/// Ends the suspicion: a stack of main shows it in the poll.
pub(crate) fn idle(since_ns: u64) {
    if SINCE.load(Ordering::Relaxed) == since_ns {
        ends(since_ns);
    }
}

/// Gives way to a call of main that began then. Confirmed work that began earlier stays.
pub(crate) fn yields_to(begun_ns: u64) {
    let since = SINCE.load(Ordering::Relaxed);
    if since != 0 && (CONFIRMED.load(Ordering::Relaxed) != since || begun_ns < since) {
        ends(since);
    }
}

fn ends(since_ns: u64) {
    if SINCE.compare_exchange(since_ns, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        message_watch::work_ends(since_ns);
    }
}

/// Ends a suspicion that the timer no longer watches, because main began a message.
pub(crate) fn watched(since_ns: u64) {
    let since = SINCE.load(Ordering::Relaxed);
    if since != 0 && since != since_ns {
        ends(since);
    }
}

/// The confirmed work that is open.
pub(crate) fn open() -> Option<Open> {
    let since_ns = SINCE.load(Ordering::Relaxed);
    let known = since_ns != 0 && CONFIRMED.load(Ordering::Relaxed) == since_ns;
    let recorder = Recorder::active().filter(|_| known)?;
    let stands = recorder.message_since.load(Ordering::Relaxed) == since_ns;
    stands.then_some(Open { since_ns, mark: None })
}
