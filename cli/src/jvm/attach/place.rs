//! Where a process that is attached to has its agent, its map and its recording: in a directory of its own `/tmp`.
//!
//! ```text
//! /tmp/anrscope-UID/agent-NUMBER/libanrscope.so    one for all processes of the user
//! /tmp/anrscope-UID/PID-START/                     recording, map, settings and lock of one process
//! ```
//! The agent and the recorder stay in a process, so the directory does too; a later attachment to any process removes those
//! of processes that have ended.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jvm_agent::client::{Loaded, Target};

use super::client_lock;
use crate::embedded;

/// Paths in the target's mount namespace.
#[derive(Debug)]
pub(super) struct Place {
    /// The agent.
    pub(super) library: PathBuf,
    /// The process's directory.
    pub(super) dir: PathBuf,
}

impl Place {
    /// Creates the directories of a process, and writes the agent.
    ///
    /// # Errors
    /// If they cannot be written, or belong to another user.
    pub(super) fn prepare(target: &Target) -> anyhow::Result<Self> {
        let user = nix::unistd::geteuid();
        let base = PathBuf::from(format!("/tmp/anrscope-{user}"));
        let outside = target.path(&base);
        own_directory(&outside, user.as_raw())?;
        remove_ended(target, &outside);
        let dir = base.join(format!("{}-{}", target.inner_pid(), target.started()));
        own_directory(&target.path(&dir), user.as_raw())?;
        // A library of another version may be there already; a second one would not find the first one's classes.
        let library = match target.loaded(embedded::LIBRARY_NAME) {
            Some(Loaded { path, is_removed: false }) => path,
            Some(Loaded { path, .. }) => bail!(
                "{}, the agent in process {}, was removed, so no command reaches it: restart the program",
                path.display(),
                target.pid()
            ),
            None => {
                let of_version = base.join(format!("agent-{:016x}", embedded::library_number()));
                own_directory(&target.path(&of_version), user.as_raw())?;
                let written = embedded::unpack_library_once(&target.path(&of_version));
                written.with_context(|| format!("cannot write to {}", of_version.display()))?;
                of_version.join(embedded::LIBRARY_NAME)
            }
        };
        Ok(Self { library, dir })
    }
}

/// Creates a directory for this user alone, unless it is there.
fn own_directory(path: &Path, user: u32) -> anyhow::Result<()> {
    let created = fs::DirBuilder::new().mode(0o700).create(path);
    if let Err(error) = created
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error).with_context(|| format!("cannot create {}", path.display()));
    }
    // In a directory that all users can write to, it may be another's, or a link.
    let meta = fs::symlink_metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !meta.is_dir() || meta.uid() != user || meta.mode() & 0o022 != 0 {
        bail!("{} is not a directory of this user alone: remove it", path.display());
    }
    Ok(())
}

/// Removes the directories of processes that have ended.
fn remove_ended(target: &Target, base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((pid, started)) = name.to_str().and_then(identity) else { continue };
        let stat =
            fs::read_to_string(target.path(Path::new(&format!("/proc/{pid}/stat")))).unwrap_or_default();
        let is_alive = stat
            .rsplit_once(')')
            .and_then(|(_, fields)| fields.split_whitespace().nth(19)?.parse().ok())
            .is_some_and(|of_pid: u64| of_pid == started);
        // Another attachment may still read those of a process that has just ended.
        if !is_alive && client_lock::is_free(&entry.path()) {
            // What cannot be removed is left to the system's cleaning of temporary files.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// `PID-START`.
fn identity(name: &str) -> Option<(u32, u64)> {
    let (pid, started) = name.split_once('-')?;
    Some((pid.parse().ok()?, started.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn directories_are_this_users_alone() {
        let scratch = Scratch::new();
        let user = nix::unistd::geteuid().as_raw();
        let path = scratch.path().join("own");
        for _ in 0..2 {
            own_directory(&path, user).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(own_directory(&path, user + 1).is_err());
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(own_directory(&link, user).unwrap_err().to_string().contains("remove it"));
        assert_eq!([identity("12-34"), identity("agent-12"), identity("12")], [Some((12, 34)), None, None]);
    }
}
