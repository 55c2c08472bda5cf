//! Messages of the main thread: which end belongs to which begin, what the last ones were, which was slow, and which does
//! not end.
//!
//! [`Messages`] puts them together for the one thread that is watched: nothing in it allocates, locks or asks the system
//! once it is made. [`History`] is read by any thread meanwhile. [`Watch`] is the watching thread's.

mod history;
mod line;
mod messages;
mod outermost;
mod pairing;
mod slow;
mod watch;

pub use history::{DENSITY, Density, HISTORY, History, Told};
pub use line::{Bound, Lines};
pub use messages::Messages;
pub use outermost::{Outer, Outermost};
pub use pairing::{Begun, Ended, MAX_NESTED, Pairing, SAME_LOOP_BYTES, Tag};
pub use slow::{SLOW_MS, SlowMessage};
pub use watch::{Due, Evidence, Limits, Look, Seen, Suppressed, Watch};
