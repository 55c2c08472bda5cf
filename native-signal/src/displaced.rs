//! Being displaced: another handler was installed after ours. Reported once, never fought.

use crate::older::{Action, InfoHandler};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The shortest time between two looks.
const EVERY_NS: u64 = 1_000_000_000;

/// Another handler stands before ours. It may chain to ours, and then nothing has changed; if it does not, SIGQUITs are
/// sensed no more, and whether the Signal Catcher gets them is that handler's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// The address of that handler; 0 is the default action and 1 ignore. `dladdr` tells whose it is.
    pub handler: usize,
}

/// What was seen last.
pub(crate) struct Look {
    next_ns: AtomicU64,
    /// The handler that was reported; [`Look::OURS`] while ours stands first.
    reported: AtomicUsize,
}

impl Look {
    /// No handler's address.
    const OURS: usize = usize::MAX;

    pub(crate) const fn new() -> Self {
        Look { next_ns: AtomicU64::new(0), reported: AtomicUsize::new(Look::OURS) }
    }

    /// A load and a compare, and once a second one system call. Something only for a handler that was not reported yet.
    pub(crate) fn check(&self, now_ns: u64, ours: InfoHandler) -> Option<Displaced> {
        if now_ns < self.next_ns.load(Ordering::Relaxed) {
            return None;
        }
        self.next_ns.store(now_ns.saturating_add(EVERY_NS), Ordering::Relaxed);
        let action = Action::current().ok()?;
        let seen = if action.is(ours) { Look::OURS } else { action.address() };
        let before = self.reported.swap(seen, Ordering::Relaxed);
        (seen != before && seen != Look::OURS).then_some(Displaced { handler: seen })
    }
}
