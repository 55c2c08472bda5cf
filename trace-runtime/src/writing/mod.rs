//! Writing events, on the thread that they happen on: the hot path, and what may stop it.
//!
//! | module | what |
//! | --- | --- |
//! | `events` | what is called for an event |
//! | `thread` | the calling thread's place in the recording |
//! | `writer` | an event becomes words of the thread's block |
//! | `door` | who may write: compiled Java code or this library |
//! | `switches`, `budget` | methods that are switched off, and those that are because they cost more than they tell |
//! | `waits`, `owners` | waits, and who holds what is waited for |
//! | `cost` | what an event costs on this device |

pub(crate) mod budget;
pub(crate) mod cost;
pub(crate) mod door;
pub(crate) mod events;
pub(crate) mod owners;
pub(crate) mod switches;
pub(crate) mod thread;
pub(crate) mod waits;
pub(crate) mod writer;

/// The atomics that [`door`] uses; its model check gives it others.
mod atomic {
    pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
}
