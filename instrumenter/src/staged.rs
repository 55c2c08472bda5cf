//! Outputs that appear whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A file or folder that is written beside its final place, and removed again unless
/// [`commit`](Self::commit) moves it there.
pub(crate) struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    is_folder: bool,
}

impl Staged {
    /// A place to write `target`. Its parent folders are made.
    pub(crate) fn new(target: &Path, is_folder: bool) -> Result<Self, Error> {
        let failed = |path: &Path, source: io::Error| Error::Write { path: path.into(), source };
        let Some(name) = target.file_name() else {
            return Err(failed(target, io::Error::from(io::ErrorKind::InvalidFilename)));
        };
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = parent.join(temporary);
        if is_folder {
            fs::create_dir(&temporary).map_err(|error| failed(&temporary, error))?;
        }
        Ok(Self { temporary, target: target.into(), is_folder })
    }

    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Writes a file.
    pub(crate) fn file(target: &Path, contents: &[u8]) -> Result<Self, Error> {
        let staged = Self::new(target, false)?;
        fs::write(staged.path(), contents).map_err(|source| staged.error(source))?;
        Ok(staged)
    }

    pub(crate) fn error(&self, source: io::Error) -> Error {
        Error::Write { path: self.target.clone(), source }
    }

    /// Moves what was written to its place.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        if self.is_folder && self.target.is_dir() {
            // Only an empty one is removed.
            fs::remove_dir(&self.target).map_err(|source| self.error(source))?;
        }
        fs::rename(&self.temporary, &self.target).map_err(|source| self.error(source))?;
        self.temporary.clear();
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.temporary.as_os_str().is_empty() {
            return;
        }
        // Nothing can be done about a failure here; the error that led here is what counts.
        let _ = if self.is_folder {
            fs::remove_dir_all(&self.temporary)
        } else {
            fs::remove_file(&self.temporary)
        };
    }
}
