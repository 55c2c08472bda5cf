//! What the library around the recorder adds to the recorder's own work.

use std::borrow::Cow;
use std::io;
use std::thread::{Builder, JoinHandle};

use crate::recorder::Recorder;

/// The body of a thread of the recorder.
pub type ThreadBody = Box<dyn FnOnce() + Send>;

/// When the ticker calls [`Hooks::on_tick`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tick {
    /// No thread records any more: the ticker is about to sleep.
    Idle,
    /// Every 100 ms while anything is recorded.
    Check,
    /// After each check of a recorder that has a heartbeat; CLOCK_BOOTTIME ns.
    Heartbeat(u64),
}

/// What the library around the recorder adds: functions without state, called on the threads that each one names.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Starts a thread of the recorder with this name; on the thread that starts recording, and on the worker.
    pub spawn: fn(&str, ThreadBody) -> io::Result<JoinHandle<()>>,
    /// On the ticker. It must be short: main's time stands still meanwhile.
    pub on_tick: fn(&'static Recorder, Tick),
    /// The name under which a thread is recorded, from its own; on that thread.
    pub thread_name: for<'a> fn(&'a str) -> Cow<'a, str>,
    /// On the thread that ends the process in order, before the worker is waited for.
    pub at_exit: fn(),
}

impl Default for Hooks {
    /// Threads of the standard library, names as they are, and nothing else.
    fn default() -> Self {
        Self {
            spawn: |name, body| Builder::new().name(name.to_owned()).spawn(body),
            on_tick: |_, _| (),
            thread_name: |name| Cow::Borrowed(name),
            at_exit: || (),
        }
    }
}
