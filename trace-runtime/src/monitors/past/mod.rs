//! Recordings of earlier processes of the app.
//!
//! | module | contents |
//! | --- | --- |
//! | `old_recording` | the header and the sections of one |
//! | `listing` | the list for the app's uploads |
//! | `exit_info`, `profile` | the system's account of the exit, and what the platform stored at its triggers |
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

use crate::recorder::Recorder;

/// The id of this process's recording; `None` if nothing is recorded.
pub(crate) fn own_id() -> Option<String> {
    Recorder::active().map(|own| trace_format::recording_id(std::process::id(), own.start_realtime()))
}
