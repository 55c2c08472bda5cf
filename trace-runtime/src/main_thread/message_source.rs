//! Where main's messages are known from: the Looper's Printer, or main's outermost recorded calls; and whether they are
//! reported.

use std::sync::atomic::{AtomicBool, Ordering};

static BY_CALLS: AtomicBool = AtomicBool::new(false);
/// True if messages are reported: the Looper's shim runs, or another source of messages asked for reports.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Returns true if main's outermost recorded calls stand for its messages, because no Printer reports messages.
pub(crate) fn is_by_calls() -> bool {
    BY_CALLS.load(Ordering::Acquire)
}

/// Sets whether main's outermost recorded calls stand for its messages.
pub(crate) fn set_by_calls(by_calls: bool) {
    BY_CALLS.store(by_calls, Ordering::Release);
}

/// Returns true if messages are reported, and not only recorded.
pub(crate) fn is_reported() -> bool {
    REPORTED.load(Ordering::Acquire)
}

/// Sets whether messages are reported.
pub(crate) fn set_reported(reported: bool) {
    REPORTED.store(reported, Ordering::Release);
}

/// Returns true if units of work that are not messages are accepted: not while main's outermost calls stand for
/// messages, which another thread reads.
pub(crate) fn takes_units() -> bool {
    is_reported() && !is_by_calls()
}
