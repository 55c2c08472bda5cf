//! Finds ART's Signal Catcher.
//!
//! Its name alone identifies it (AOSP `art/runtime/signal_catcher.cc` attaches it as "Signal Catcher"). Its mask shows
//! only whether it waits at this moment: 0x1000 in `sigwait`, 0x1204 during a dump, other bits with some vendors. So
//! the mask is a preference among several threads of that name, never a condition. A thread that is about to end does not
//! count ([`task::lives`]).

use crate::task;
use std::io;

/// The name that ART gives the thread.
pub(crate) const NAME: &str = "Signal Catcher";

/// The thread to forward to: one of that name, preferably one that has SIGQUIT unblocked by bit test, never `refused`.
///
/// An error does not mean that no such thread exists: without a free file descriptor no thread can be looked up.
pub(crate) fn find(refused: i32) -> io::Result<Option<i32>> {
    let mut first = None;
    let waits = task::find(|tid| {
        if tid == refused || !has_the_name(tid)? {
            return Ok(false);
        }
        let waits = task::status(tid)?.is_some_and(|status| status.is_open(libc::SIGQUIT));
        // Checked last: what was read of a thread that has ended since means nothing.
        if !task::lives(tid)? {
            return Ok(false);
        }
        first = first.or(Some(tid));
        Ok(waits)
    })?;
    Ok(waits.or(first))
}

/// Whether this thread is still what [`find`] took it for.
pub(crate) fn is_still_there(tid: i32) -> io::Result<bool> {
    Ok(has_the_name(tid)? && task::lives(tid)?)
}

/// Whether this thread of the process is listed and has the name.
pub(crate) fn has_the_name(tid: i32) -> io::Result<bool> {
    task::has_name(tid, NAME)
}
