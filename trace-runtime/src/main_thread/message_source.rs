//! Where main's messages are known from: the Looper's Printer, or main's outermost recorded calls.

use std::sync::atomic::{AtomicBool, Ordering};

static BY_CALLS: AtomicBool = AtomicBool::new(false);

/// Whether main's outermost recorded calls stand for its messages, because no Printer reports messages.
pub(crate) fn is_by_calls() -> bool {
    BY_CALLS.load(Ordering::Acquire)
}

/// Sets whether main's outermost recorded calls stand for its messages.
pub(crate) fn set_by_calls(by_calls: bool) {
    BY_CALLS.store(by_calls, Ordering::Release);
}
