//! The main thread, as any thread of the library sees it.
//!
//! | module | contents |
//! | --- | --- |
//! | `marks` | marks in main's record, and copies from a mark on |
//! | `message_source` | where main's messages are known from, and whether they are reported |
//! | `message_watch` | which message is watched by the stall timer, and since when |
//! | `main_at` | what main was doing at a moment |
//! | `usage` | main's CPU time and context switches |
//! | `poll` | whether main waits in its Looper's poll |

pub(crate) mod main_at;
pub(crate) mod message_source;
pub(crate) mod message_watch;
pub(crate) mod poll;
pub(crate) mod usage;
