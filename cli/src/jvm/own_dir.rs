//! Directories of instrumented classes: how to recognise them, and whether they are in use.
//!
//! Each has a marker file. It tells a later run not to instrument these classes a second time or search the directory, and that its
//! content may be replaced. The marker is locked as long as a program runs on the classes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// The marker's name. No class path element is the directory itself, so no program sees it.
const MARK: &str = ".anrscope-run";

const TEXT: &[u8] = b"Instrumented classes of a run of anrscope jvm; the next run replaces them.\n";

/// A directory in use until this is dropped and the program that was started meanwhile has ended.
#[derive(Debug)]
pub(crate) struct OwnDir {
    path: PathBuf,
    _lock: File,
}

impl OwnDir {
    /// Claims `dir/name` and empties it; appends a number if that one is in use, or was not made by anrscope.
    ///
    /// # Errors
    /// If no directory can be created.
    pub(crate) fn claim(dir: &Path, name: &str) -> io::Result<Self> {
        let numbered = (2..).map(|n: u32| dir.join(format!("{name}-{n}")));
        for path in std::iter::once(dir.join(name)).chain(numbered) {
            let made = match fs::create_dir(&path) {
                Ok(()) => true,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
                Err(e) => return Err(e),
            };
            let mark = path.join(MARK);
            if !made && !mark.is_file() {
                continue;
            }
            let mut lock = File::options().write(true).create(true).truncate(false).open(mark)?;
            if lock.try_lock().is_err() {
                continue;
            }
            // The program inherits the lock: its classes stay even if this process is killed first.
            fcntl(&lock, FcntlArg::F_SETFD(FdFlag::empty()))?;
            lock.write_all(TEXT)?;
            empty(&path)?;
            return Ok(Self { path, _lock: lock });
        }
        unreachable!("the numbers do not end")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes everything in a claimed directory but the marker.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == MARK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a directory on a class path was written by an earlier run: instrumented classes, or the recorder's own.
pub(crate) fn is_ours(directory: &Path) -> bool {
    let library = |directory: &Path| directory.join("libanrscope.so").is_file();
    // Early versions left no marker.
    let unmarked = || {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("instrumented")
            && directory.parent().is_some_and(|parent| library(&parent.join("runtime")))
    };
    directory.join(MARK).is_file() || library(directory) || unmarked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_directory_of_an_earlier_run_is_emptied_and_one_in_use_or_of_others_is_left() {
        let scratch = Scratch::new();
        let dir = scratch.path();
        let name = |directory: &OwnDir| directory.path().file_name().unwrap().to_owned();
        let first = OwnDir::claim(dir, "out").unwrap();
        fs::create_dir(first.path().join("sub")).unwrap();
        fs::write(first.path().join("A.class"), "x").unwrap();
        let second = OwnDir::claim(dir, "out").unwrap();
        assert_eq!((name(&first), name(&second)), ("out".into(), "out-2".into()));
        assert!(first.path().join("A.class").exists());
        drop((first, second));
        let again = OwnDir::claim(dir, "out").unwrap();
        assert_eq!(name(&again), "out");
        let left: Vec<_> = fs::read_dir(again.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, [MARK]);
        scratch.file("theirs/A.class", b"x");
        assert_eq!(name(&OwnDir::claim(dir, "theirs").unwrap()), "theirs-2");
        assert!(dir.join("theirs/A.class").exists());
    }

    #[test]
    fn the_output_of_a_run_is_recognised_with_a_marker_and_without() {
        let scratch = Scratch::new();
        let dir = scratch.path();
        let directory = OwnDir::claim(dir, "a").unwrap();
        scratch.file("old/runtime/libanrscope.so", b"x");
        scratch.file("old/instrumented-2/A.class", b"x");
        scratch.file("instrumented/A.class", b"x");
        let ours = |name: &str| is_ours(&dir.join(name));
        assert!(is_ours(directory.path()) && ours("old/runtime") && ours("old/instrumented-2"));
        assert!(!ours("instrumented") && !ours("old") && !ours("none"));
    }
}
