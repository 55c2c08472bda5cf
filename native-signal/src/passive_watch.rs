//! Sensing without touching anything: the catcher's own count of sleeps.
//!
//! The Signal Catcher sleeps in `sigwait` all its life. Its `voluntary_ctxt_switches` stand still then, and go up when
//! it has taken a signal and sleeps again (or waits for something in its dump). So where nothing may be installed, a
//! SIGQUIT still shows, with the second's exactness of the look and without its sender.

use crate::{catcher, task};

/// The shortest time between two looks.
const EVERY_NS: u64 = 1_000_000_000;

/// Watches the catcher while the main thread looks stuck, and only then: [`PassiveWatch::tick`] is called with each
/// [`crate::StallEvent::Tick`], so that it costs no wake-up of its own. For a sensor that is [`crate::Mode::Passive`].
///
/// Any thread, one at a time; it reads files of `/proc` and allocates. Never in a signal handler.
#[derive(Debug, Default)]
pub struct PassiveWatch {
    /// The catcher and its count when last seen.
    last: Option<(i32, u64)>,
    next_ns: u64,
}

/// A sign that the Signal Catcher was woken while the main thread was stuck, most likely by a SIGQUIT.
///
/// It says less than a [`crate::Sensed`]: not who sent it, and not for sure that it was SIGQUIT (a debugger that stops
/// the process wakes the catcher too). Nothing was taken and nothing is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPassively {
    /// When it was seen, by the clock of the caller: up to a second, or the distance of two ticks, after it happened.
    pub time_ns: u64,
    /// The catcher.
    pub tid: i32,
    /// How often it went to sleep since the last look.
    pub sleeps: u64,
}

impl PassiveWatch {
    /// A watch that has seen nothing yet.
    pub fn new() -> Self {
        PassiveWatch::default()
    }

    /// The main thread still looks stuck. The first call of a stall looks, and so does every one that comes a second or
    /// more after the last look.
    pub fn tick(&mut self, now_ns: u64) -> Option<SeenPassively> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(EVERY_NS);
        // A tid may come again: it must bear the name still.
        let known = self.last.filter(|&(tid, _)| matches!(catcher::is_still_there(tid), Ok(true)));
        let tid = match known {
            Some((tid, _)) => tid,
            None => catcher::find(0).ok().flatten()?,
        };
        let sleeps = task::status(tid).ok().flatten()?.sleeps;
        self.last = Some((tid, sleeps));
        let (_, before) = known?;
        let grown = sleeps.checked_sub(before).filter(|&grown| grown > 0)?;
        Some(SeenPassively { time_ns: now_ns, tid, sleeps: grown })
    }

    /// The main thread goes on: what the catcher does until the next stall counts for nothing.
    pub fn rest(&mut self) {
        *self = PassiveWatch::default();
    }
}
