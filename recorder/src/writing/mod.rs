//! Writing events, on the thread that they happen on: the hot path, and what may stop it.
//!
//! | module | what |
//! | --- | --- |
//! | `events` | what is called for an event |
//! | `thread` | the calling thread's place in the recording |
//! | `seats` | where threads' writers are in memory |
//! | `short_calls` | what is told of calls that leave nothing |
//! | `switches` | methods that are switched off |
//! | `overhead` | what recording costs while it runs, and methods that go off for it |
//! | `room` | methods that would fill main's ring, and go off for it |
//! | `waits` | waits, and who owns what is waited for |
//! | `cost` | what an event costs on this device |

pub(crate) mod cost;
pub mod events;
pub mod overhead;
pub(crate) mod room;
mod seats;
pub(crate) mod short_calls;
pub mod switches;
pub mod thread;
pub mod waits;
