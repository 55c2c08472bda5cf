//! Senses SIGQUIT without installing anything, by the catcher's voluntary context switches.
//!
//! The Signal Catcher sleeps in `sigwait`. Its `voluntary_ctxt_switches` stay constant then, and grow when
//! it has taken a signal and sleeps again (or waits for something in its dump). So where nothing may be installed, a
//! SIGQUIT is still detected, to the second of the check and without its sender.

use crate::{catcher, task};

/// The shortest time between two checks of the catcher, in ns.
const CATCHER_CHECK_NS: u64 = 1_000_000_000;

/// Watches the catcher while the main thread is stalled, and only then: [`PassiveWatch::tick`] is called at each wake-up of
/// [`crate::StallTimer`], so that it costs no wake-up of its own. For a sensor that is [`crate::Mode::Passive`].
///
/// Any thread, one at a time; it reads files of `/proc` and allocates. Never in a signal handler.
#[derive(Debug, Default)]
pub struct PassiveWatch {
    /// The catcher and its count when last seen.
    last: Option<(i32, u64)>,
    next_ns: u64,
}

impl PassiveWatch {
    /// The main thread is still stalled. Checks at the first call of a stall, and at every call a second or
    /// more after the last check.
    ///
    /// Returns true if the Signal Catcher was woken since the last check, most likely by a SIGQUIT. That
    /// says less than a [`crate::Sensed`]: not who sent it, and not for sure that it was SIGQUIT (a debugger that stops
    /// the process wakes the catcher too). The signal was not taken, and need not be forwarded.
    pub fn tick(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        self.next_ns = now_ns.saturating_add(CATCHER_CHECK_NS);
        self.is_woken().unwrap_or(false)
    }

    fn is_woken(&mut self) -> Option<bool> {
        // A tid may be reused: the thread must still have the name.
        let known = self.last.filter(|&(tid, _)| matches!(catcher::is_still_there(tid), Ok(true)));
        let tid = match known {
            Some((tid, _)) => tid,
            None => catcher::find(0).ok().flatten()?,
        };
        let sleeps = task::status(tid).ok().flatten()?.sleeps;
        self.last = Some((tid, sleeps));
        Some(known?.1 < sleeps)
    }

    /// The main thread has recovered: what the catcher does until the next stall is ignored.
    pub fn rest(&mut self) {
        *self = PassiveWatch::default();
    }
}
