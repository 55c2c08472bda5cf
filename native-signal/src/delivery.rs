//! Tracks whether a forwarded signal was consumed by the Signal Catcher.
//!
//! A busy catcher takes the signal when it is done. If the catcher ends first the signal is lost, although the kernel had
//! accepted it, and must be sent again. Costs one check of the catcher after each signal, and further ones, at growing
//! intervals, only while the signal is pending.

use crate::task;
use std::time::{Duration, Instant};

const FIRST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_secs(5);

/// The one signal that may be pending for a catcher (the kernel keeps no second one).
#[derive(Default)]
pub(crate) struct Delivery(Option<Watch>);

struct Watch {
    tid: i32,
    until: Instant,
    length: Duration,
}

/// What became of the signal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The thread consumed it, or had no pending signal; the thread existed afterwards.
    Consumed,
    /// It is still pending.
    Pending,
    /// The thread ends and has not consumed it.
    Lost,
    /// The thread is exiting or gone, and nothing is pending: it may have consumed it or not.
    Unknown,
}

/// The fate of a signal that was sent to this thread, by what the kernel shows.
///
/// Whether the thread lives is checked last. A thread that lives then may still take a pending signal; and it was not ending when
/// the signal was sent, so a signal that is not pending was taken. That does not hold for a thread that ends: Linux 6.18
/// accepts a signal for it (`tgkill` returns 0) without keeping it.
fn fate(tid: i32) -> Fate {
    let (status, lives) = match (task::status(tid), task::lives(tid)) {
        (Ok(Some(status)), Ok(lives)) => (status, lives),
        (Ok(None), _) => return Fate::Unknown,
        // No file descriptor free: later.
        (Err(_), _) | (_, Err(_)) => return Fate::Pending,
    };
    match (status.is_pending(libc::SIGQUIT), lives) {
        (true, true) => Fate::Pending,
        (true, false) => Fate::Lost,
        (false, true) => Fate::Consumed,
        (false, false) => Fate::Unknown,
    }
}

impl Delivery {
    /// A signal was sent to this thread just now.
    pub(crate) fn sent_to(&mut self, tid: i32) -> Fate {
        self.0 = Some(Watch { tid, until: Instant::now(), length: FIRST_INTERVAL });
        self.poll().unwrap_or(Fate::Pending)
    }

    /// Checks again if it is time to.
    pub(crate) fn poll(&mut self) -> Option<Fate> {
        let watch = self.0.take_if(|watch| watch.until <= Instant::now())?;
        let fate = fate(watch.tid);
        if fate == Fate::Pending {
            let length = (watch.length * 2).min(LONGEST_INTERVAL);
            self.0 = Some(Watch { tid: watch.tid, until: Instant::now() + watch.length, length });
        }
        Some(fate)
    }

    /// How long until the next check; `None` if nothing is pending.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.0.as_ref().map(|watch| watch.until.saturating_duration_since(Instant::now()))
    }
}
