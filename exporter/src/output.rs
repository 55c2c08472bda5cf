//! Output files that appear whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A temporary file beside its target, which [`Output::commit`] renames to it; dropping it removes the file. A target that is not a
/// regular file (a pipe, `/dev/null`) is written to directly.
///
/// Only the user can read the file, with any umask. A trace, a report or a map says what a program did and how it is built, as
/// its recording does, and the recorder gives that one mode 0600. The temporary file is a new one with a name of its own, so that
/// neither a link that another user put there nor a second writer of the same target has a part in it.
#[derive(Debug)]
pub struct Output {
    target: PathBuf,
    /// The temporary path, if the target is not written to directly.
    temporary: Option<PathBuf>,
    file: File,
}

impl Output {
    /// Opens an output for `target`.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(target: &Path) -> io::Result<Self> {
        // A link is resolved, so that it stays.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        match fs::metadata(&target) {
            Ok(meta) if meta.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
            }
            Ok(meta) if !meta.is_file() => {
                let file = File::options().write(true).open(&target)?;
                return Ok(Self { target, temporary: None, file });
            }
            Ok(meta) if meta.permissions().readonly() => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
            }
            _ => {}
        }
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
        let directory =
            target.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (temporary, file) = create_beside(directory, name)?;
        Ok(Self { target, temporary: Some(temporary), file })
    }

    /// The file to write to.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The path that it is for, with links resolved.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The temporary file, if there is one.
    #[must_use]
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Moves the temporary file to the target.
    ///
    /// # Errors
    /// If that fails.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)?;
            self.temporary = None;
        }
        Ok(())
    }
}

/// Options that create a new file for this user alone.
pub(crate) fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a new hidden file in `directory`.
fn create_beside(directory: &Path, name: &OsStr) -> io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.part", std::process::id()));
        let temporary = directory.join(temporary);
        match private().open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Another thread has it, or a killed process with the same pid left it.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(e) => return Err(e),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The error that led here is the one to report.
            let _ = fs::remove_file(temporary);
        }
    }
}
