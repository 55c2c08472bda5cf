//! Native stacks (option `native_stacks`): registers and stack bytes of main while it is stalled, of the owner of the lock it waits for, and
//! of threads that miss their heartbeat. [`native_signal::capture`] copies them; nothing is unwound in the app.
//!
//! | module | contents |
//! | --- | --- |
//! | `modules` | the thread `anrscope-maps`: which native code the captures touch |
//! | `sections` | the worker moves captures from their slots to sections |
//! | `watched` | heartbeats of the app's own threads |
//! | `capturing` | the thread `anrscope-stacks`: when a stack is captured, and whose |
//!
//! # Which thread does what
//! A capture may take 200 ms, so neither main's timer nor the sensor of SIGQUIT takes it: both only wake `anrscope-stacks`, which takes no
//! lock and allocates nothing for a capture. The worker moves full slots. To read what is mapped takes the loader's lock, which a main that
//! hangs in `dlopen` holds: only `anrscope-maps` may have to wait for it, so captures and verdicts go on.

pub(crate) mod capturing;
mod modules;
mod sections;
pub(crate) mod watched;

use std::thread::Thread;

use crate::guard::disarm_on_panic;
use crate::recorder::notice;

/// Starts a thread of native stacks. Without it, a notice says what is missing.
fn start_thread(name: &str, missing: &str, body: fn()) -> Option<Thread> {
    let started = native_signal::spawn_quiet(name, move || {
        disarm_on_panic(body);
    });
    match started {
        Ok(started) => Some(started.thread().clone()),
        Err(error) => {
            notice(&[missing, ": no thread: ", &error.to_string()].concat());
            None
        }
    }
}
