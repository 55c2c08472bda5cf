//! One attachment of a process at a time.
//!
//! The file `client.lock` of the process's directory is locked as long as an attachment lasts (man 2 flock), and has the pid of
//! `anrscope attach` in it. The kernel releases the lock if that is killed. The agent waits for this, and restores the classes.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use jvm_agent::client::Dir;

use super::open_text;

/// The file's name.
pub(super) const NAME: &str = "client.lock";

/// The agent has the lock for a moment once the client before is gone.
const FREE_WITHIN: Duration = Duration::from_secs(1);

/// The lock.
#[derive(Debug)]
pub(super) struct ClientLock {
    file: File,
    /// The client before, if it did not end the attachment.
    pub(super) killed: Option<u32>,
}

impl ClientLock {
    /// Locks the file in `dir`; `pid` is the recorded process.
    ///
    /// # Errors
    /// If another process has it, or it cannot be opened.
    pub(super) fn take(dir: &Dir, pid: u32) -> anyhow::Result<Self> {
        let failed = || format!("cannot lock {}", dir.path().join(NAME).display());
        let mut file = dir.write(OsStr::new(NAME))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < FREE_WITHIN => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    let other = noted(&mut file).map_or(String::new(), |other| format!(" (pid {other})"));
                    bail!("another anrscope attach{other} records process {pid}: wait for its end");
                }
                Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
            }
        }
        let killed = noted(&mut file);
        Ok(Self { file, killed })
    }

    /// Notes this process as the one that attaches. If it is killed from now on, the next attachment says so.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn begins(&mut self) -> io::Result<()> {
        open_text::replace(&mut self.file, &std::process::id().to_string())
    }

    /// Notes that the attachment has ended in order. The lock is released when this is dropped.
    pub(super) fn has_ended(&mut self) {
        // Otherwise the next attachment says that this one was killed.
        let _ = open_text::replace(&mut self.file, "");
    }
}

/// The pid in the file.
fn noted(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn one_process_has_the_lock_and_one_that_was_killed_is_known() {
        let scratch = Scratch::new();
        let dir = Dir::open(scratch.path(), Path::new("/tmp/x"), 7).unwrap();
        let mut first = ClientLock::take(&dir, 7).unwrap();
        assert_eq!(first.killed, None);
        first.begins().unwrap();
        let refused = ClientLock::take(&dir, 7).unwrap_err().to_string();
        assert!(refused.contains(&format!("(pid {}) records process 7", std::process::id())), "{refused}");
        drop(first);
        let mut second = ClientLock::take(&dir, 7).unwrap();
        assert_eq!(second.killed, Some(std::process::id()));
        second.begins().unwrap();
        second.has_ended();
        drop(second);
        assert_eq!(ClientLock::take(&dir, 7).unwrap().killed, None);
    }
}
