//! LAG and ANR.
//!
//! | module | contents |
//! | --- | --- |
//! | `timers` | what the timer thread does at each of its polls |
//! | `system_trace` | when a snapshot of the running system trace is requested |
//! | `snapshot` | what was known when an ANR was found, and the reports |
//! | `anr_listener` | the encoding of ANR events for the app's `AnrListener` |

pub(crate) mod anr_listener;
pub(crate) mod snapshot;
pub(crate) mod system_trace;
pub(crate) mod timers;
