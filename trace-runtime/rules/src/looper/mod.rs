//! Messages of the main thread: pairs begins with ends, keeps the last ones, and finds slow ones and those that do
//! not end.
//!
//! [`Messages`] combines them for the watched thread: it does not allocate, lock or make system calls
//! once it exists. Any thread may read [`History`] meanwhile. [`Watch`] belongs to the watching thread.

mod history;
mod line;
mod messages;
mod outermost;
mod pairing;
mod watch;

pub use history::{DENSITY, Density, HISTORY, History, RecentMessage};
pub use line::{Bound, Lines};
pub use messages::Messages;
pub use outermost::{Outer, Outermost};
pub use pairing::{Begun, Ended, MAX_NESTED, Pairing, SAME_LOOP_BYTES, SLOW_MS, Tag};
pub use watch::{Due, Limits, Poll, PollResult, Watch};
