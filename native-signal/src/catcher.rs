//! Finding ART's Signal Catcher.
//!
//! It is known by its name alone (AOSP `art/runtime/signal_catcher.cc` attaches it as "Signal Catcher"). Its mask tells
//! only whether it waits at this moment: 0x1000 in `sigwait`, 0x1204 during a dump, other bits with some vendors. So
//! the mask is a preference among several of that name, never a condition. A thread that is about to end is none
//! ([`task::lives`]).

use crate::task;
use std::io;

/// The name that ART gives the thread.
pub(crate) const NAME: &str = "Signal Catcher";

/// The thread to forward to: one of that name, rather one that has SIGQUIT open by bit test, never `refused`.
///
/// An error is not the same as none: without a free file descriptor nobody can be found though somebody is there.
pub(crate) fn find(refused: i32) -> io::Result<Option<i32>> {
    let mut first = None;
    let waits = task::find(|tid| {
        if tid == refused || !has_the_name(tid)? {
            return Ok(false);
        }
        let waits = task::status(tid)?.is_some_and(|status| status.is_open(libc::SIGQUIT));
        // Asked last: what was read of a thread that ended in between means nothing.
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

/// Whether this thread of ours is listed and carries the name.
pub(crate) fn has_the_name(tid: i32) -> io::Result<bool> {
    task::has_name(tid, NAME)
}
