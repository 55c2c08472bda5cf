//! A fault of ours never becomes the app's: it ends the recording instead.

use std::panic::{AssertUnwindSafe, catch_unwind};

use trace_format::layout::State;

use crate::recorder::Recorder;

/// Runs `f`; if it panics, recording ends for good and `None` comes back. Every entry from Java and every
/// thread of ours goes through here.
#[inline]
pub(crate) fn disarm_on_panic<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(_) => {
            Recorder::deactivate(Some(State::Disarmed));
            None
        }
    }
}
