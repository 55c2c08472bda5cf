//! Folders of instrumented classes: which are ours, and which are in use.
//!
//! Each has a mark in it. By the mark a later run knows that it must neither instrument these classes once more nor walk into the
//! folder, and may replace what is there. The mark is locked as long as a program runs on the classes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

/// The mark's name. No class path element is the folder itself, so no program sees it.
const MARK: &str = ".anrscope-run";

const TEXT: &[u8] = b"Instrumented classes of a run of anrscope jvm; the next run replaces them.\n";

/// A folder of ours that is in use until this is dropped and the program that was started meanwhile has ended.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    path: PathBuf,
    _lock: File,
}

impl OwnFolder {
    /// An empty folder `dir/name`; with a number behind it if that one is in use, or not ours.
    ///
    /// # Errors
    /// If none can be made.
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
            // The program inherits it: its classes stay even if we are killed before it ends.
            fcntl(&lock, FcntlArg::F_SETFD(FdFlag::empty()))?;
            lock.write_all(TEXT)?;
            empty(&path)?;
            return Ok(Self { path, _lock: lock });
        }
        unreachable!("numbers do not end")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes all in a folder of ours but the mark.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
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

/// Whether a folder on a class path holds what a run of ours has written: classes that are instrumented, or the recorder's own.
pub(crate) fn is_ours(folder: &Path) -> bool {
    let library = |folder: &Path| folder.join("libanrscope.so").is_file();
    // Of a version that left no mark.
    let unmarked = || {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("instrumented")
            && folder.parent().is_some_and(|parent| library(&parent.join("runtime")))
    };
    folder.join(MARK).is_file() || library(folder) || unmarked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_folder_of_an_earlier_run_is_emptied_and_one_in_use_or_of_others_is_left() {
        let scratch = Scratch::new();
        let dir = scratch.path();
        let name = |folder: &OwnFolder| folder.path().file_name().unwrap().to_owned();
        let first = OwnFolder::claim(dir, "out").unwrap();
        fs::create_dir(first.path().join("sub")).unwrap();
        fs::write(first.path().join("A.class"), "x").unwrap();
        let second = OwnFolder::claim(dir, "out").unwrap();
        assert_eq!((name(&first), name(&second)), ("out".into(), "out-2".into()));
        assert!(first.path().join("A.class").exists());
        drop((first, second));
        let again = OwnFolder::claim(dir, "out").unwrap();
        assert_eq!(name(&again), "out");
        let left: Vec<_> = fs::read_dir(again.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, [MARK]);
        scratch.file("theirs/A.class", b"x");
        assert_eq!(name(&OwnFolder::claim(dir, "theirs").unwrap()), "theirs-2");
        assert!(dir.join("theirs/A.class").exists());
    }

    #[test]
    fn what_a_run_wrote_is_known_with_a_mark_and_without() {
        let scratch = Scratch::new();
        let dir = scratch.path();
        let folder = OwnFolder::claim(dir, "a").unwrap();
        scratch.file("old/runtime/libanrscope.so", b"x");
        scratch.file("old/instrumented-2/A.class", b"x");
        scratch.file("instrumented/A.class", b"x");
        let ours = |name: &str| is_ours(&dir.join(name));
        assert!(is_ours(folder.path()) && ours("old/runtime") && ours("old/instrumented-2"));
        assert!(!ours("instrumented") && !ours("old") && !ours("none"));
    }
}
