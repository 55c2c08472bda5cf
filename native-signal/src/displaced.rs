//! Being displaced: another handler was installed after ours. Reported once, never fought.

use crate::older::{Action, InfoHandler};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The shortest time between two looks.
const EVERY_NS: u64 = 1_000_000_000;

/// Another action stands in the place of ours. A handler may chain to ours, and then nothing has changed; if it does not, SIGQUITs
/// are sensed no more, and whether the Signal Catcher gets them is that handler's doing.
///
/// The default action and ignore cannot chain. With SIGQUIT open on the leader because of us the next dump request would end the
/// process, or vanish, which it would not without us; so the leader blocks SIGQUIT again ([`Displaced::blocked`]), the catcher gets
/// what is sent, as before [`crate::install`], and the sensor is passive ([`crate::PassiveReason::HandlerRemoved`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// The address of the handler; 0 is the default action and 1 ignore. `dladdr` tells whose it is.
    pub handler: usize,
    /// Whether the leader blocks SIGQUIT again because of it.
    pub blocked: bool,
}

/// What was seen last.
pub(crate) struct Look {
    next_ns: AtomicU64,
    /// The handler that was reported; [`Look::OURS`] while ours stands first.
    reported: AtomicUsize,
    /// The action that ours was put back for, plus one; 0 for none.
    put_back: AtomicUsize,
}

impl Look {
    /// No handler's address.
    const OURS: usize = usize::MAX;

    pub(crate) const fn new() -> Self {
        Look {
            next_ns: AtomicU64::new(0),
            reported: AtomicUsize::new(Look::OURS),
            put_back: AtomicUsize::new(0),
        }
    }

    /// A load and a compare, and once a second one system call: the action that stands in the place of ours, and whether it was
    /// not reported yet.
    pub(crate) fn check(&self, now_ns: u64, ours: InfoHandler) -> Option<(usize, bool)> {
        if now_ns < self.next_ns.load(Ordering::Relaxed) {
            return None;
        }
        self.next_ns.store(now_ns.saturating_add(EVERY_NS), Ordering::Relaxed);
        let action = Action::current().ok()?;
        let seen = match self.put_back.swap(0, Ordering::AcqRel) {
            0 if action.is(ours) => Look::OURS,
            0 => action.address(),
            removed => removed - 1,
        };
        let before = self.reported.swap(seen, Ordering::Relaxed);
        (seen != Look::OURS).then_some((seen, seen != before))
    }

    /// Puts `ours` in the place of the default action or ignore. The leader cannot block SIGQUIT at this moment, and the next
    /// one would end the process; [`Look::check`], on the leader, says of it what it would have said of that action.
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
