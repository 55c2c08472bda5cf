//! SIGQUIT in the recording. [`native_signal`] captures the signal and forwards it.
//!
//! | module | contents |
//! | --- | --- |
//! | `sensing` | a SIGQUIT becomes an event |
//! | `verdict` | whether it was an ANR |
//! | `attaching` | whether a tool attaches to the JVM by it |
//! | `error_states` | the system's list of processes in error, for the judge |
//! | `trace_text` | the runtime's own thread dump |

mod attaching;
pub(crate) mod error_states;
pub(crate) mod sensing;
pub(crate) mod trace_text;
pub(crate) mod verdict;
