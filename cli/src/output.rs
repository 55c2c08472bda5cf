//! Output files that appear whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{cleanup, terminal};

/// A temporary file beside its target, which [`Output::commit`] renames to it; dropping it removes the file. A target that is not a
/// regular file (a pipe, `/dev/null`) is written to directly.
///
/// Only the user can read the file, with any umask. A trace, a report or a map says what a program did and how it is built, as
/// its recording does, and the recorder gives that one mode 0600.
#[derive(Debug)]
pub(crate) struct Output {
    target: PathBuf,
    /// The temporary path, if the target is not written to directly.
    temporary: Option<PathBuf>,
    file: File,
}

impl Output {
    /// Opens an output for `target`, whose directory is created if needed.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub(crate) fn create(target: &Path) -> anyhow::Result<Self> {
        Self::open(target)
            .with_context(|| format!("cannot write {}: choose another output", target.display()))
    }

    fn open(target: &Path) -> io::Result<Self> {
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
        fs::create_dir_all(directory)?;
        let (temporary, file) = create_beside(directory, name)?;
        cleanup::add(&temporary);
        Ok(Self { target, temporary: Some(temporary), file })
    }

    /// The file to write to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Moves the temporary file to the target.
    ///
    /// # Errors
    /// If that fails.
    pub(crate) fn commit(mut self) -> anyhow::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)
                .with_context(|| format!("cannot write {}: choose another output", self.target.display()))?;
            cleanup::forget(temporary);
            self.temporary = None;
        }
        Ok(())
    }
}

/// ` (in a new directory)` if writing `target` creates its directory: it may be a misspelled name.
pub(crate) fn new_directory_of(target: &Path) -> &'static str {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.exists()) { " (in a new directory)" } else { "" }
}

/// Writes a page to `target`, whole or not at all, or to stdout. In JSON, terminal control characters become escapes.
///
/// # Errors
/// If `write` fails, or the page cannot be written there.
pub(crate) fn page(
    target: Option<&Path>,
    json: bool,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some(target) = target else {
        let mut stdout = io::BufWriter::new(terminal::stdout_of(json));
        write(&mut stdout)?;
        return Ok(stdout.flush()?);
    };
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let output = Output::create(target)?;
    let mut file = io::BufWriter::new(terminal::shown_in(output.file(), json));
    write(&mut file)?;
    file.flush().with_context(|| format!("cannot write {}: choose another output", target.display()))?;
    drop(file);
    output.commit()
}

/// Writes `bytes` to `target`, whole or not at all.
///
/// # Errors
/// If it cannot be written there.
pub(crate) fn write(target: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let output = Output::create(target)?;
    output
        .file()
        .write_all(bytes)
        .with_context(|| format!("cannot write {}: choose another output", target.display()))?;
    output.commit()
}

/// Options that create a new file for this user alone.
fn private() -> fs::OpenOptions {
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
            // A killed process with the same pid left it.
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
            cleanup::forget(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::io::Write;

    fn names(scratch: &Scratch) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let scratch = Scratch::new();
        let target = scratch.file("trace", b"old");
        let output = Output::create(&target).unwrap();
        output.file().write_all(b"half").unwrap();
        drop(output);
        assert_eq!((fs::read(&target).unwrap(), names(&scratch)), (b"old".to_vec(), vec!["trace".into()]));
        let output = Output::create(&target).unwrap();
        output.file().write_all(b"new").unwrap();
        output.commit().unwrap();
        assert_eq!((fs::read(&target).unwrap(), names(&scratch)), (b"new".to_vec(), vec!["trace".into()]));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_an_output() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new();
        let target = scratch.path().join("trace");
        write(&target, b"names").unwrap();
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn directories_are_created_and_are_not_valid_targets() {
        let scratch = Scratch::new();
        Output::create(&scratch.path().join("a/b/trace")).unwrap().commit().unwrap();
        assert!(scratch.path().join("a/b/trace").is_file());
        let error = format!("{:#}", Output::create(&scratch.path().join("a")).unwrap_err());
        assert!(error.contains("directory"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_not_replaced() {
        let scratch = Scratch::new();
        let target = scratch.file("trace", b"old");
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let output = Output::create(&link).unwrap();
        output.file().write_all(b"new").unwrap();
        output.commit().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        Output::create(Path::new("/dev/null")).unwrap().commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
