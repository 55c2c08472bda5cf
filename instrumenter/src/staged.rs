//! Outputs that appear whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// How what was written comes to its place.
enum Kind {
    File,
    /// A directory that is not there yet, or empty.
    Directory,
    /// A directory of ours whose contents are replaced.
    Replaced,
    /// New files for a directory of ours, and what is to be removed from it: files, and directories that are
    /// empty then, deeper ones first.
    Update {
        files: Vec<PathBuf>,
        directories: Vec<PathBuf>,
    },
}

/// A file or directory that is written beside its final place, and removed again unless
/// [`commit`](Self::commit) moves it there.
pub(crate) struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    kind: Kind,
}

impl Staged {
    /// A place to write the file `target`. Its parent directories are made.
    pub(crate) fn new_file(target: &Path) -> Result<Self, Error> {
        Self::new(target, Kind::File)
    }

    /// A place to write the directory `target`. If `is_ours`, one that is there is replaced.
    pub(crate) fn new_directory(target: &Path, is_ours: bool) -> Result<Self, Error> {
        Self::new(target, if is_ours && target.is_dir() { Kind::Replaced } else { Kind::Directory })
    }

    /// A place to write files of the directory `target`, which is ours.
    pub(crate) fn new_update(target: &Path) -> Result<Self, Error> {
        Self::new(target, Kind::Update { files: Vec::new(), directories: Vec::new() })
    }

    fn new(target: &Path, kind: Kind) -> Result<Self, Error> {
        let failed = |path: &Path, source: io::Error| Error::Write { path: path.into(), source };
        if target.file_name().is_none() {
            return Err(failed(target, io::Error::from(io::ErrorKind::InvalidFilename)));
        }
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
        let temporary = beside(target, "tmp");
        if !matches!(kind, Kind::File) {
            fs::create_dir(&temporary).map_err(|error| failed(&temporary, error))?;
        }
        Ok(Self { temporary, target: target.into(), kind })
    }

    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Where it comes to lie.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Whether files that are not written stay as they are.
    pub(crate) fn is_update(&self) -> bool {
        matches!(self.kind, Kind::Update { .. })
    }

    /// Whether it is a directory, or files of one.
    pub(crate) fn is_directory(&self) -> bool {
        !matches!(self.kind, Kind::File)
    }

    /// Notes what is to be removed from a directory that is updated, by paths in it.
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

    /// Moves what was written to its place.
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
                    // Only an empty one is removed.
                    fs::remove_dir(to)?;
                }
            }
            Kind::Replaced => {
                let old = beside(to, "old.tmp");
                fs::rename(to, &old)?;
                if let Err(error) = fs::rename(from, to) {
                    // Better the old one than none.
                    let _ = fs::rename(&old, to);
                    return Err(error);
                }
                // It is of no use any more, and what cannot be removed does no harm.
                let _ = fs::remove_dir_all(old);
                return Ok(());
            }
            Kind::Update { files, directories } => {
                for file in files {
                    match fs::remove_file(to.join(file)) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
                for directory in directories {
                    // Stays if somebody else keeps something in it.
                    let _ = fs::remove_dir(to.join(directory));
                }
                move_files(from, to)?;
                return Ok(());
            }
        }
        fs::rename(from, to)
    }
}

/// Moves every file below `from` to the same place below `to`.
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

/// `.NAME.PID.END` in the directory of `target`.
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
        // Nothing can be done about a failure here; the error that led here is what counts.
        let _ = match self.kind {
            Kind::File => fs::remove_file(&self.temporary),
            _ => fs::remove_dir_all(&self.temporary),
        };
    }
}
