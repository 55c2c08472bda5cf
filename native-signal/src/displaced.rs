//! Detects that another handler was installed after ours. It is reported once and never replaced.

use crate::previous::{Action, InfoHandler};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The shortest time between two checks of the current action, in ns.
const ACTION_CHECK_NS: u64 = 1_000_000_000;

/// Another action has replaced ours. A handler may chain to ours, and then nothing has changed; if it does not, SIGQUITs
/// are no longer sensed, and whether the Signal Catcher gets them depends on that handler.
///
/// The default action and ignore cannot chain. With SIGQUIT unblocked on the leader because of us the next dump request would end
/// the process, or vanish, which would not happen without us; so the leader blocks SIGQUIT again ([`Displaced::blocked`]), the catcher gets
/// what is sent, as before [`crate::install`], and the sensor is passive ([`crate::PassiveReason::HandlerRemoved`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// The address of the handler; 0 is the default action and 1 ignore. `dladdr` gives its library.
    pub handler: usize,
    /// Whether the leader blocks SIGQUIT again because of it.
    pub blocked: bool,
}

/// The state of the last check.
#[derive(Default)]
pub(crate) struct Displacement {
    next_ns: AtomicU64,
    /// The handler that was reported, plus one; 0 while ours is the current one.
    reported: AtomicUsize,
    /// The action that ours was put back for, plus one; 0 for none.
    put_back: AtomicUsize,
}

impl Displacement {
    /// The action that has replaced ours, and whether it was not reported yet. Costs a load and a compare, and once a second one
    /// system call.
    pub(crate) fn check(&self, now_ns: u64, ours: InfoHandler) -> Option<(usize, bool)> {
        if now_ns < self.next_ns.load(Ordering::Relaxed) {
            return None;
        }
        self.next_ns.store(now_ns.saturating_add(ACTION_CHECK_NS), Ordering::Relaxed);
        let action = Action::current().ok()?;
        let seen = match self.put_back.swap(0, Ordering::AcqRel) {
            0 if action.is(ours) => 0,
            0 => action.address() + 1,
            removed => removed,
        };
        let before = self.reported.swap(seen, Ordering::Relaxed);
        Some((seen.checked_sub(1)?, seen != before))
    }

    /// Puts `ours` back where the action is the default or ignore. The leader cannot block SIGQUIT at this moment, and the next
    /// signal would end the process; [`Displacement::check`], on the leader, then reports that action as it would have before.
    pub(crate) fn put_back(&self, ours: &Action) {
        let Ok(action) = Action::current() else { return };
        if action.is_handler() {
            return;
        }
        match ours.put() {
            // Another handler was installed in between: it keeps its place.
            Ok(found) if found.is_handler() => {
                let _ = found.put();
            }
            Ok(_) => self.put_back.store(action.address() + 1, Ordering::Release),
            Err(_) => {}
        }
    }
}
