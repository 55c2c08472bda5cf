//! Where a process that is attached to has its agent, its map and its recording: in a directory of its own `/tmp`.
//!
//! ```text
//! /tmp/anrscope-UID/agent-NUMBER/libanrscope.so    one for all processes of the user
//! /tmp/anrscope-UID/PID-START/                     recording, map, settings and lock of one process
//! ```
//! The agent and the recorder stay in a process, so the directory does too; a later attachment to any process removes those
//! of processes that have ended.
//!
//! Any user may take the name `anrscope-UID` first, and only that user and root can remove what is there. Then the directory is
//! `anrscope-UID.RANDOM`, which cannot be foreseen, and is found again as one of this user alone, or by the path of the agent in
//! the process.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jvm_agent::client::{Dir, Loaded, PathError, Target};

use super::settings;
use crate::embedded;

/// The agent and the directory of a process.
#[derive(Debug)]
pub(super) struct Place {
    /// The agent, as the process sees it.
    pub(super) library: PathBuf,
    /// The process's directory.
    pub(super) dir: Dir,
}

impl Place {
    /// Creates the directories of a process, and writes the agent.
    ///
    /// # Errors
    /// If they cannot be written, or another user has put something there.
    pub(super) fn prepare(target: &Target) -> anyhow::Result<Self> {
        let tmp = target.tmp()?;
        let own = OsString::from(format!("{}-{}", target.inner_pid(), target.started()));
        let bases = Bases::of(&tmp)?;
        bases.remove_ended(&own);
        // A library of another version may be there already; a second one would not find the first one's classes.
        let loaded = target.loaded(embedded::LIBRARY_NAME);
        let base = bases.choose(loaded.as_ref().map(|loaded| loaded.path.as_path()))?;
        let dir = base.create_private(&own)?;
        let library = match loaded {
            Some(Loaded { path, is_removed: false }) => path,
            Some(Loaded { path, .. }) => bail!(
                "{}, the agent in process {}, was removed, so no command reaches it: restart the program",
                path.display(),
                target.pid()
            ),
            None => {
                let number = format!("agent-{:016x}", embedded::library_number());
                let of_version = base.create_private(OsStr::new(&number))?;
                unpack(&of_version)?;
                of_version.path().join(embedded::LIBRARY_NAME)
            }
        };
        Ok(Self { library, dir })
    }
}

/// The directories of this user in a `/tmp`, of which one is usual.
struct Bases<'a> {
    tmp: &'a Dir,
    /// The usual name.
    name: String,
    found: Vec<Dir>,
}

impl<'a> Bases<'a> {
    fn of(tmp: &'a Dir) -> Result<Self, PathError> {
        let name = format!("anrscope-{}", nix::unistd::geteuid());
        let names = tmp.names()?.into_iter().filter(|of| is_base(of, &name));
        // What other users have put there is left out.
        let found = names.filter_map(|of| tmp.private(&of).ok().flatten()).collect();
        Ok(Self { tmp, name, found })
    }

    /// Removes the directories of processes that have ended, but never that with the name `own`.
    fn remove_ended(&self, own: &OsStr) {
        for base in &self.found {
            for name in base.names().unwrap_or_default() {
                let is_process = name.to_str().is_some_and(is_identity);
                // What is not a directory of this user stays.
                let dir = base.private(&name).ok().flatten().filter(|_| is_process && name != own);
                if dir.as_ref().is_some_and(has_ended) {
                    // What cannot be removed is left to the system's cleaning of temporary files.
                    let _ = fs::remove_dir_all(base.here().join(name));
                }
            }
        }
    }

    /// Chooses the directory that the agent was loaded from, or else the usual one, or one beside it.
    fn choose(self, loaded: Option<&Path>) -> Result<Dir, PathError> {
        let mut found = self.found;
        let of_agent = |base: &Dir| loaded.is_some_and(|library| library.starts_with(base.path()));
        if let Some(at) = found.iter().position(of_agent) {
            return Ok(found.swap_remove(at));
        }
        match self.tmp.create_private(OsStr::new(&self.name)) {
            Err(PathError::Foreign { .. }) => match found.pop() {
                Some(base) => Ok(base),
                None => {
                    let random = RandomState::new().hash_one(std::process::id());
                    self.tmp.create_private(OsStr::new(&format!("{}.{random:016x}", self.name)))
                }
            },
            usual => usual,
        }
    }
}

/// Returns true if a directory of this name may be the user's whose usual name is `usual`.
fn is_base(name: &OsStr, usual: &str) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(usual));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns true if the process of this directory has ended, and no attachment uses it: each keeps a file in it locked, the process its
/// recording. A directory without settings is one that an attachment has just made.
///
/// A process table would not do. A chroot may have no `/proc`, and that of a container may say anything.
fn has_ended(dir: &Dir) -> bool {
    let Ok(names) = dir.names() else { return false };
    let is_locked =
        |name: &OsString| dir.read(name).is_ok_and(|file| file.is_some_and(|file| file.try_lock().is_err()));
    names.iter().any(|name| name == settings::FILE) && !names.iter().any(is_locked)
}

/// Returns true for `PID-START`.
fn is_identity(name: &str) -> bool {
    name.split_once('-')
        .is_some_and(|(pid, started)| pid.parse::<u32>().is_ok() && started.parse::<u64>().is_ok())
}

/// Writes the agent into `dir`, unless it is there. A JVM that has loaded it is given commands by this path.
fn unpack(dir: &Dir) -> anyhow::Result<()> {
    let name = embedded::LIBRARY_NAME;
    let library = embedded::library()?;
    if dir.read(OsStr::new(name))?.is_some_and(|file| has(file, library)) {
        return Ok(());
    }
    // Whole or not at all: another process may do the same.
    let part = dir.here().join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&part);
    let written = File::create_new(&part).and_then(|mut file| file.write_all(library));
    let written = written.and_then(|()| fs::rename(&part, dir.here().join(name)));
    if written.is_err() {
        // What there is of it would take the little room that is left.
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write to {}", dir.path().display()))
}

/// Returns true if a file has these bytes, and no more.
fn has(file: File, bytes: &[u8]) -> bool {
    let mut there = Vec::new();
    file.take(bytes.len() as u64 + 1).read_to_end(&mut there).is_ok() && there == bytes
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::scratch::Scratch;

    fn tmp(scratch: &Scratch) -> Dir {
        Dir::open(scratch.path(), Path::new("/tmp"), 7).unwrap()
    }

    fn chosen(tmp: &Dir, loaded: Option<&str>) -> PathBuf {
        Bases::of(tmp).unwrap().choose(loaded.map(Path::new)).unwrap().path().to_owned()
    }

    #[test]
    fn a_directory_of_another_user_is_not_used() {
        let scratch = Scratch::new();
        let tmp = tmp(&scratch);
        let usual = format!("anrscope-{}", nix::unistd::geteuid());
        let elsewhere = scratch.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, scratch.path().join(&usual)).unwrap();
        let beside = chosen(&tmp, None);
        assert!(beside.to_str().unwrap().starts_with(&format!("/tmp/{usual}.")), "{beside:?}");
        // It is found again, also by the agent's path when the usual name is free.
        assert_eq!(chosen(&tmp, None), beside);
        fs::remove_file(scratch.path().join(&usual)).unwrap();
        fs::create_dir(scratch.path().join(&usual)).unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(scratch.path().join(&usual), open).unwrap();
        assert_eq!(chosen(&tmp, None), beside);
        fs::remove_dir(scratch.path().join(&usual)).unwrap();
        let agent = beside.join("agent-1/libanrscope.so");
        assert_eq!(chosen(&tmp, agent.to_str()), beside);
        assert_eq!(chosen(&tmp, Some("/srv/libanrscope.so")), Path::new("/tmp").join(&usual));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn directories_are_removed_when_no_file_in_them_is_locked() {
        let scratch = Scratch::new();
        let tmp = tmp(&scratch);
        let base = tmp.create_private(OsStr::new(&format!("anrscope-{}", nix::unistd::geteuid()))).unwrap();
        let make = |name: &str| base.create_private(OsStr::new(name)).unwrap();
        let (ended, own, used, new) = (make("1-2"), make("3-4"), make("5-6"), make("7-8"));
        for dir in [&ended, &own, &used, &make("agent-0")] {
            dir.write(OsStr::new(settings::FILE)).unwrap();
            dir.write(OsStr::new("x.anrscope")).unwrap();
        }
        new.write(OsStr::new("client.lock")).unwrap();
        let lock = used.read(OsStr::new("x.anrscope")).unwrap().unwrap();
        lock.try_lock().unwrap();
        let kept = scratch.file("kept/file", b"mine");
        symlink(kept.parent().unwrap(), ended.here().join("link")).unwrap();
        Bases::of(&tmp).unwrap().remove_ended(OsStr::new("3-4"));
        let mut names = base.names().unwrap();
        names.sort();
        assert_eq!(names, ["3-4", "5-6", "7-8", "agent-0"]);
        assert!(kept.exists());
    }

    #[test]
    fn names_of_other_users_and_programs_are_left_out() {
        for (name, is) in
            [("anrscope-1", true), ("anrscope-1.5f", true), ("anrscope-10", false), ("anrscope-1-0", false)]
        {
            assert_eq!(is_base(OsStr::new(name), "anrscope-1"), is, "{name}");
        }
        assert_eq!([is_identity("12-34"), is_identity("agent-12"), is_identity("12")], [true, false, false]);
    }

    #[test]
    fn the_agent_is_written_once_and_never_through_a_link() {
        let scratch = Scratch::new();
        let dir = Dir::open(scratch.path(), Path::new("/tmp/x"), 7).unwrap();
        let foreign = scratch.file("foreign", b"mine");
        let part = format!(".{}.{}", embedded::LIBRARY_NAME, std::process::id());
        symlink(&foreign, scratch.path().join(part)).unwrap();
        unpack(&dir).unwrap();
        let library = scratch.path().join(embedded::LIBRARY_NAME);
        let made = fs::metadata(&library).unwrap().modified().unwrap();
        unpack(&dir).unwrap();
        assert_eq!(fs::metadata(&library).unwrap().modified().unwrap(), made);
        assert_eq!(fs::read(&library).unwrap(), embedded::library().unwrap());
        fs::remove_file(&library).unwrap();
        symlink(&foreign, &library).unwrap();
        assert!(unpack(&dir).unwrap_err().to_string().ends_with("is a link, and is left alone: remove it"));
        assert_eq!(fs::read(&foreign).unwrap(), b"mine");
    }
}
