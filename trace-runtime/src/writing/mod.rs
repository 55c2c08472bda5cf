//! Writing events, on the thread that they happen on: the hot path, and what may stop it.
//!
//! | module | what |
//! | --- | --- |
//! | `events` | what is called for an event |
//! | `thread` | the calling thread's place in the recording |
//! | `seats` | where threads' writers are in memory |
//! | `writer` | an event becomes words of the thread's block |
//! | `door` | who may write: compiled Java code or this library |
//! | `open_calls` | what is open at the begin of a block |
//! | `short_calls` | what is told of calls that leave nothing |
//! | `switches` | methods that are switched off |
//! | `overhead` | what recording costs while it runs, and methods that go off for it |
//! | `room` | methods that would fill main's ring, and go off for it |
//! | `waits`, `owners` | waits, and who holds what is waited for |
//! | `cost` | what an event costs on this device |

pub(crate) mod cost;
pub(crate) mod door;
pub(crate) mod events;
pub(crate) mod open_calls;
pub(crate) mod overhead;
pub(crate) mod owners;
pub(crate) mod room;
mod seats;
pub(crate) mod short_calls;
pub(crate) mod switches;
pub(crate) mod thread;
pub(crate) mod waits;
pub(crate) mod writer;

/// The atomics that [`door`] uses; its model check gives it others.
mod atomic {
    pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

    /// Keeps the compiler from moving a look in front of a store; for the processor there is a time of grace.
    #[inline]
    pub(super) fn order() {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}
