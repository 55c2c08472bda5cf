//! SIGQUIT, as far as the recording goes; [`native_signal`] senses it and hands it on.
//!
//! | module | what |
//! | --- | --- |
//! | `sensing` | a SIGQUIT becomes an event |
//! | `verdict` | what it was |
//! | `error_states` | the system's list of processes in error, for the judge |
//! | `trace_text` | the runtime's own dump of its threads |

pub(crate) mod error_states;
pub(crate) mod sensing;
pub(crate) mod trace_text;
pub(crate) mod verdict;
