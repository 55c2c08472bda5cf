//! Time: the clocks, and the coarse time that most events are written with.
//!
//! | module | what |
//! | --- | --- |
//! | `clock` | the system's clocks |
//! | `cycles` | the processor's cycle counter in their place |
//! | `time_word` | a word that says whether coarse time is kept, and tells it |
//! | `coarse` | the process's one, and how its ticker is woken |
//! | `fold` | which calls are too short to be recorded |

pub mod clock;
pub mod coarse;
pub(crate) mod cycles;
pub mod fold;
pub(crate) mod time_word;

// `time_word` takes them from its parent, which in the model is another one.
use crate::atomic;

/// The time axis, ns, by the cheapest means that is right: what events are stamped with.
#[inline]
pub fn now() -> u64 {
    cycles::now().unwrap_or_else(clock::boottime)
}
