//! One attachment of a process at a time.
//!
//! The file `client.lock` of the process's directory is locked as long as an attachment lasts (man 2 flock), and has the pid of
//! `anrscope attach` in it. The kernel releases the lock if that is killed. The agent waits for this, and restores the classes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

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
    /// Locks the file in `dir`, and notes this process in it; `pid` is the recorded process.
    ///
    /// # Errors
    /// If another process has it, or it cannot be written.
    pub(super) fn take(dir: &Path, pid: u32) -> anyhow::Result<Self> {
        let path = dir.join(NAME);
        let failed = || format!("cannot lock {}", path.display());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).with_context(failed)?;
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
        let mut this = Self { file, killed };
        this.note(&std::process::id().to_string()).with_context(failed)?;
        Ok(this)
    }

    /// Notes that the attachment has ended in order. The lock is released when this is dropped.
    pub(super) fn has_ended(&mut self) {
        // Otherwise the next attachment says that this one was killed.
        let _ = self.note("");
    }

    fn note(&mut self, text: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

/// Whether no attachment lasts that uses the directory.
pub(super) fn is_free(dir: &Path) -> bool {
    File::open(dir.join(NAME)).map_or(true, |file| file.try_lock().is_ok())
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
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn one_process_has_the_lock_and_one_that_was_killed_is_known() {
        let scratch = Scratch::new();
        assert!(is_free(scratch.path()));
        let first = ClientLock::take(scratch.path(), 7).unwrap();
        assert_eq!(first.killed, None);
        assert!(!is_free(scratch.path()));
        let refused = ClientLock::take(scratch.path(), 7).unwrap_err().to_string();
        assert!(refused.contains(&format!("(pid {}) records process 7", std::process::id())), "{refused}");
        drop(first);
        let mut second = ClientLock::take(scratch.path(), 7).unwrap();
        assert_eq!(second.killed, Some(std::process::id()));
        second.has_ended();
        drop(second);
        assert_eq!(ClientLock::take(scratch.path(), 7).unwrap().killed, None);
    }
}
