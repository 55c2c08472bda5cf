//! Recordings of earlier processes of the app.
//!
//! | module | contents |
//! | --- | --- |
//! | `old_recording` | the header and the sections of one |
//! | `listing` | the list for the app's uploads |
//! | `exit_info`, `profile` | the system's account of the exit, and the platform's profiles of ANRs |
//! | `retention` | which recordings are kept |
//! | `stack_bytes` | wipes the stack bytes of native stacks |
//! | `crash_loop` | the guard against an app that crashes at each start |

pub(crate) mod crash_loop;
pub(crate) mod exit_info;
pub(crate) mod listing;
pub(crate) mod old_recording;
pub(crate) mod profile;
pub(crate) mod retention;
pub(crate) mod stack_bytes;
