//! Writing events, on the thread that they happen on: the hot path, and what limits its cost.
//!
//! | module | what |
//! | --- | --- |
//! | `events` | the calls that record an event |
//! | `thread` | the calling thread's writer |
//! | `seats` | the memory of threads' writers |
//! | `losses` | ends that could not be recorded |
//! | `short_calls` | a sample of the calls that are not recorded |
//! | `switches` | methods that are switched off |
//! | `overhead` | what recording costs while it runs, and methods that are switched off for it |
//! | `room` | methods that would fill main's ring, and are switched off for it |
//! | `waits` | waits, and who owns what is waited for |
//! | `cost` | what an event costs on this device |

pub(crate) mod cost;
pub mod events;
pub mod losses;
pub mod overhead;
pub(crate) mod room;
mod seats;
pub(crate) mod short_calls;
pub mod switches;
pub mod thread;
pub mod waits;

pub use seats::is_gone;
