//! What main runs: messages, work between messages, idle handlers, input.
//!
//! | module | contents |
//! | --- | --- |
//! | `messages`, `open_message` | main's messages: pairing, history, which one is open |
//! | `outermost` | main's outermost recorded calls, where no Printer reports messages |
//! | `unknown` | work outside of messages that is not instrumented |
//! | `slow_messages` | reports of slow messages |
//! | `tuning` | main's priority and timer slack |
//! | `idle`, `touch` | idle handlers, delayed input |

pub(crate) mod idle;
pub(crate) mod messages;
mod open_message;
pub(crate) mod outermost;
mod slow_messages;
pub(crate) mod touch;
pub(crate) mod tuning;
pub(crate) mod unknown;
