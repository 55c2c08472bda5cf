//! What main does outside of messages and that neither a shim nor its own record shows: code that is not instrumented, in a callback of a file
//! descriptor or of a view that is a window by itself.
//!
//! The kernel says whether main is in its Looper's poll ([`poll`]). If it is not, while no message is open, that is a suspicion, and the timer, which
//! watches it as a message, looks again at each of its ticks, from the age at which messages are sampled on, every 20 ms: one look that finds main in the poll ends it. If none does, one sample of
//! main's stack decides: unless it waits in `nativePollOnce`, this is a unit, timed from when it was first seen.
//!
//! # What a check costs, and when none is made
//! A look opens, reads and closes one file of /proc, some microseconds on a thread of the library; main does nothing for it. There is one where a thread of
//! the library is awake anyway: at each look of the timer, up to two seconds after the last message, and once a second while the ticker's heartbeat goes
//! on, half a minute after the last event. An app that has been idle for longer is not looked at and not woken; what it hangs in then is found
//! by SIGQUIT alone.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::main_thread::{message_watch, poll, usage};
use crate::monitors::looper::open_message::Open;
use crate::monitors::looper::{messages, outermost};
use crate::monitors::stacks::sampler::{self, Answer, Wanted};
use crate::recorder::Recorder;

/// How it is called in snapshots and the history.
pub(crate) const NAME: &str = "unknown work outside of messages";

/// Looks of the heartbeat are as far apart as this, ns.
const EVERY_NS: u64 = 1_000_000_000;

/// When main was first seen outside of the poll; 0 if it is not suspected.
static SINCE: AtomicU64 = AtomicU64::new(0);
/// That one, once its stack has confirmed it.
static CONFIRMED: AtomicU64 = AtomicU64::new(0);
/// That one, once its stack was asked for.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// How often main had been switched away from when its stack last showed it in the poll: as long as that stays it has not run since.
static IDLE_AT: AtomicU64 = AtomicU64::new(u64::MAX);
/// The heartbeat's last look.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// A look at a main that is in no message, at `now_ns`. On the timer's thread.
pub(crate) fn look(recorder: &Recorder, now_ns: u64) {
    let free = SINCE.load(Ordering::Relaxed) == 0 && messages::takes_units();
    if !free
        || !message_watch::is_between_messages(recorder, None)
        || poll::is_polling(recorder.main_tid) != Some(false)
    {
        return;
    }
    if usage::switches_of(recorder.main_tid) == Some(IDLE_AT.load(Ordering::Relaxed)) {
        return;
    }
    if message_watch::work_began(now_ns) {
        SINCE.store(now_ns, Ordering::Relaxed);
    }
}

/// As [`look`], once a second at most. On the ticker's thread.
pub(crate) fn heartbeat(recorder: &Recorder, now_ns: u64) {
    if now_ns.saturating_sub(LOOKED.load(Ordering::Relaxed)) >= EVERY_NS {
        LOOKED.store(now_ns, Ordering::Relaxed);
        look(recorder, now_ns);
    }
}

/// Whether what the timer watches is a suspicion, and nothing that is to be reported yet.
pub(crate) fn is_suspicion(since_ns: u64) -> bool {
    since_ns != 0
        && SINCE.load(Ordering::Relaxed) == since_ns
        && CONFIRMED.load(Ordering::Relaxed) != since_ns
}

/// The timer's tick for what it watches since then, which is old enough to be decided: whether it is nothing, or not known yet. On the timer's
/// thread.
pub(crate) fn tick(recorder: &Recorder, since_ns: u64) -> bool {
    if SINCE.load(Ordering::Relaxed) != since_ns {
        return false;
    }
    if poll::is_polling(recorder.main_tid) != Some(false) {
        ends(since_ns);
        return true;
    }
    if ASKED.swap(since_ns, Ordering::Relaxed) != since_ns {
        let switches = usage::switches_of(recorder.main_tid);
        let then = move |answer: Answer| decide(since_ns, switches, &answer);
        sampler::ask(Wanted::Stack, Box::new(then));
    }
    is_suspicion(since_ns)
}

/// Main's stack came. Without one nothing is claimed.
fn decide(since_ns: u64, switches: Option<u64>, answer: &Answer) {
    if SINCE.load(Ordering::Relaxed) != since_ns {
        return;
    }
    if answer.stack.is_empty() || outermost::is_idle(&answer.stack) {
        IDLE_AT.store(switches.unwrap_or(u64::MAX), Ordering::Relaxed);
        ends(since_ns);
        return;
    }
    CONFIRMED.store(since_ns, Ordering::Relaxed);
    message_watch::work_is_known(since_ns);
}

/// A stack of main, taken for what began then, shows it in the poll.
pub(crate) fn idle(since_ns: u64) {
    if SINCE.load(Ordering::Relaxed) == since_ns {
        ends(since_ns);
    }
}

/// A call of main is open, which began then: that is what main does. What is known to have begun before stays what it is.
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

/// What the timer watches now: whatever was suspected and is watched no more is over, because main began a message.
pub(crate) fn watched(since_ns: u64) {
    let since = SINCE.load(Ordering::Relaxed);
    if since != 0 && since != since_ns {
        ends(since);
    }
}

/// The work that is open, confirmed.
pub(crate) fn open() -> Option<Open> {
    let since_ns = SINCE.load(Ordering::Relaxed);
    let known = since_ns != 0 && CONFIRMED.load(Ordering::Relaxed) == since_ns;
    let recorder = Recorder::active().filter(|_| known)?;
    let stands = recorder.message_since.load(Ordering::Relaxed) == since_ns;
    stands.then_some(Open { since_ns, mark: None })
}
