//! Time: the clocks, and the coarse time that most events are written with.
//!
//! | module | what |
//! | --- | --- |
//! | `clock` | the system's clocks |
//! | `cycles` | the CPU's cycle counter in their place |
//! | `time_word` | a word with the coarse time, and whether it is valid |
//! | `coarse` | the process's time word, and how its ticker is woken |
//! | `fold` | which calls are too short to be recorded |

pub mod clock;
pub mod coarse;
pub(crate) mod cycles;
pub mod fold;
pub(crate) mod time_word;

/// The time axis, ns, by the cheapest valid clock: the time stamp of events.
#[inline]
pub fn now() -> u64 {
    cycles::now().unwrap_or_else(clock::boottime)
}
