//! The child's own log: what it did, written without the recorder, so that a trace can be checked against it.
//!
//! One line per event, written before the next one begins: `thread<TAB>B|E<TAB>name<TAB>before<TAB>after`, with the clock
//! (CLOCK_BOOTTIME ns) before and after the call of the recorder. The recorded time is between them. The parent adds lines with the
//! thread `parent` and the kind `I`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use trace_runtime::boottime;

use super::methods::Method;

/// One thread's access to the log.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    thread: &'static str,
}

impl Log {
    /// Appends to `path` as `thread`. Does not create the file: a missing file means that the demo has ended, and an app that lives a
    /// moment longer must not create it again.
    pub(super) fn open(path: &Path, thread: &'static str) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().append(true).open(path)?, thread })
    }

    /// Runs `act` and logs it.
    pub(super) fn note<R>(&mut self, kind: char, name: &str, act: impl FnOnce() -> R) -> R {
        let before = boottime();
        let result = act();
        let after = boottime();
        // One write: lines of several threads do not mix.
        let line = format!("{}\t{kind}\t{name}\t{before}\t{after}\n", self.thread);
        self.file.write_all(line.as_bytes()).expect("the demo's log can be written");
        result
    }

    /// Logs a slice from before to after `body`.
    pub(super) fn slice<R>(
        &mut self,
        name: &str,
        begin: impl FnOnce(),
        end: impl FnOnce(),
        body: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.note('B', name, begin);
        let result = body(self);
        self.note('E', name, end);
        result
    }

    /// Logs a method around `body`.
    pub(super) fn method<R>(&mut self, method: Method, body: impl FnOnce(&mut Self) -> R) -> R {
        let id = method.id();
        self.slice(&method.name(), || trace_runtime::enter(id), || trace_runtime::exit(id), body)
    }
}
