//! What the agent has to say: on stderr if the recording suffers, otherwise as notices in the recording.

use std::error::Error;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU32, Ordering};

/// Says why the program runs untraced.
pub(crate) fn nothing_is_recorded(why: &str) {
    eprintln!("anrscope: nothing is recorded: {why}");
}

/// Says that something is missing from here on.
pub(crate) fn warn(what: &str) {
    eprintln!("anrscope: warning: {what}");
    trace_runtime::notice(what);
}

/// An error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// The most classes and methods that are named.
const NAMED: u32 = 100;

/// Classes and methods that run untraced: the first ones are notices in the recording.
#[derive(Debug, Default)]
pub(crate) struct Skips(AtomicU32);

impl Skips {
    /// Names the first ones anew.
    pub(crate) fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, what: &str, why: &dyn Display) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before < NAMED {
            trace_runtime::notice(&format!("{what} runs untraced: {why}"));
        } else if before == NAMED {
            trace_runtime::notice("more classes or methods run untraced, which are not listed");
        }
    }
}
