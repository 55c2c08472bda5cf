//! Outputs that appear completely or not at all.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::read_file::if_there;

/// How an output is moved to its final path.
enum Kind {
    File,
    /// A directory that does not exist yet, or is empty.
    Directory,
    /// A directory of a previous run, whose content is replaced.
    Replaced,
    /// New files for a directory of a previous run, and what to remove from it: files, and directories that are then
    /// empty, deepest first.
    Update {
        files: Vec<PathBuf>,
        directories: Vec<PathBuf>,
    },
}

/// A file or directory that is written next to its final path. It is removed when dropped, unless
/// [`commit`](Self::commit) has moved it there.
pub(crate) struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    kind: Kind,
}

impl Staged {
    /// Prepares the file `target`, and creates its parent directories.
    pub(crate) fn new_file(target: &Path) -> Result<Self, Error> {
        Self::new(target, Kind::File)
    }

    /// Prepares the directory `target`. An existing one is updated with `updates`, and replaced if `is_ours`.
    pub(crate) fn new_directory(target: &Path, updates: bool, is_ours: bool) -> Result<Self, Error> {
        let kind = match target.is_dir() {
            true if updates => Kind::Update { files: Vec::new(), directories: Vec::new() },
            true if is_ours => Kind::Replaced,
            _ => Kind::Directory,
        };
        Self::new(target, kind)
    }

    fn new(target: &Path, kind: Kind) -> Result<Self, Error> {
        if target.file_name().is_none() {
            return Err(Error::writing(target)(io::ErrorKind::InvalidFilename.into()));
        }
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(parent).map_err(Error::writing(parent))?;
        let temporary = beside(target, "tmp");
        if !matches!(kind, Kind::File) {
            fs::create_dir(&temporary).map_err(Error::writing(&temporary))?;
        }
        Ok(Self { temporary, target: target.into(), kind })
    }

    /// Returns the path to write to.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Returns the final path.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns whether files that are not written stay unchanged.
    pub(crate) fn is_update(&self) -> bool {
        matches!(self.kind, Kind::Update { .. })
    }

    /// Returns whether it is a directory, or files of one.
    pub(crate) fn is_directory(&self) -> bool {
        !matches!(self.kind, Kind::File)
    }

    /// Adds files and directories to remove from a directory that is updated, by their paths in it.
    pub(crate) fn remove(
        &mut self,
        old_files: impl IntoIterator<Item = PathBuf>,
        old_directories: impl IntoIterator<Item = PathBuf>,
    ) {
        if let Kind::Update { files, directories } = &mut self.kind {
            files.extend(old_files);
            directories.extend(old_directories);
        }
    }

    /// Writes a file.
    pub(crate) fn file(target: &Path, contents: &[u8]) -> Result<Self, Error> {
        let staged = Self::new_file(target)?;
        fs::write(staged.path(), contents).map_err(|source| staged.error(source))?;
        Ok(staged)
    }

    pub(crate) fn error(&self, source: io::Error) -> Error {
        Error::Write { path: self.target.clone(), source }
    }

    /// Moves the output to its final path.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        self.move_to_target().map_err(|source| self.error(source))?;
        if !self.is_update() {
            self.temporary.clear();
        }
        Ok(())
    }

    fn move_to_target(&self) -> io::Result<()> {
        let (from, to) = (self.temporary.as_path(), self.target.as_path());
        match &self.kind {
            Kind::File => {}
            Kind::Directory => {
                if to.is_dir() {
                    // This removes only an empty directory.
                    fs::remove_dir(to)?;
                }
            }
            Kind::Replaced => {
                let old = beside(to, "old.tmp");
                fs::rename(to, &old)?;
                if let Err(error) = fs::rename(from, to) {
                    // Restore the old directory.
                    let _ = fs::rename(&old, to);
                    return Err(error);
                }
                // A leftover directory does no harm.
                let _ = fs::remove_dir_all(old);
                return Ok(());
            }
            Kind::Update { files, directories } => {
                for file in files {
                    if_there(fs::remove_file(to.join(file)))?;
                }
                for directory in directories {
                    // It stays if it contains other files.
                    let _ = fs::remove_dir(to.join(directory));
                }
                move_files(from, to)?;
                return Ok(());
            }
        }
        fs::rename(from, to)
    }
}

/// Moves every file below `from` to the same path below `to`.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&to)?;
            move_files(&from, &to)?;
        } else {
            fs::rename(from, to)?;
        }
    }
    Ok(())
}

/// Returns `.NAME.PID.END` in the directory of `target`.
fn beside(target: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.{end}", std::process::id()));
    target.with_file_name(name)
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.temporary.as_os_str().is_empty() {
            return;
        }
        // A failure here cannot be reported; the error that led here matters more.
        let _ = match self.kind {
            Kind::File => fs::remove_file(&self.temporary),
            _ => fs::remove_dir_all(&self.temporary),
        };
    }
}
