//! A signal that was sent to the catcher and lies there: whether the catcher lives to take it.
//!
//! A busy catcher finds it when it is done. One that ends first takes it away with it, although the kernel had accepted
//! it; then it is owed again. Costs one look at the catcher after each signal, and further ones, ever more rarely, only
//! while the signal lies there.

use crate::task;
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// The one signal that may lie with a catcher (the kernel keeps no second one).
#[derive(Default)]
pub(crate) struct Unread(Option<Watch>);

struct Watch {
    tid: i32,
    until: Instant,
    length: Duration,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Taken, or there was none. Its thread was there afterwards.
    Taken,
    /// It lies there still.
    Waits,
    /// Its thread ends and has not taken it.
    Lost,
    /// Its thread ends or is gone, and nothing lies with it; nobody knows whether it had taken it.
    Unknown,
}

/// Asks the kernel.
///
/// Whether the thread lives is asked last. One that lives then may yet take what lies there; and it was not ending when
/// the signal was sent, so one that does not lie there was taken. That cannot be said of a thread that ends: Linux 6.18
/// accepts a signal for it (`tgkill` returns 0) without keeping it.
fn fate(tid: i32) -> Fate {
    let (status, lives) = match (task::status(tid), task::lives(tid)) {
        (Ok(Some(status)), Ok(lives)) => (status, lives),
        (Ok(None), _) => return Fate::Unknown,
        // No file descriptor free: later.
        (Err(_), _) | (_, Err(_)) => return Fate::Waits,
    };
    match (status.is_pending(libc::SIGQUIT), lives) {
        (true, true) => Fate::Waits,
        (true, false) => Fate::Lost,
        (false, true) => Fate::Taken,
        (false, false) => Fate::Unknown,
    }
}

impl Unread {
    /// A signal was sent to this thread just now.
    pub(crate) fn sent_to(&mut self, tid: i32) -> Fate {
        self.0 = Some(Watch { tid, until: Instant::now(), length: FIRST });
        self.look().unwrap_or(Fate::Waits)
    }

    /// Looks again if it is time to.
    pub(crate) fn look(&mut self) -> Option<Fate> {
        let watch = self.0.take_if(|watch| watch.until <= Instant::now())?;
        let fate = fate(watch.tid);
        if fate == Fate::Waits {
            let length = (watch.length * 2).min(LONGEST);
            self.0 = Some(Watch { tid: watch.tid, until: Instant::now() + watch.length, length });
        }
        Some(fate)
    }

    /// How long until then.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.0.as_ref().map(|watch| watch.until.saturating_duration_since(Instant::now()))
    }
}
