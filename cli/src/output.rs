//! Output files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

use crate::{cleanup, terminal};

/// An [`exporter::Output`] whose temporary file is removed also if the program is interrupted. One that is dropped stays registered for
/// that: its file is gone, and removing it again does nothing.
#[derive(Debug)]
pub(crate) struct Output(exporter::Output);

impl Output {
    /// Opens an output for `target`, whose directory is created if needed.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub(crate) fn create(target: &Path) -> anyhow::Result<Self> {
        let created = directory_of(target).map_or(Ok(()), fs::create_dir_all);
        let output = created.and_then(|()| exporter::Output::create(target));
        let output = output.with_context(|| cannot_write(target))?;
        output.temporary().into_iter().for_each(cleanup::add);
        Ok(Self(output))
    }

    /// The file to write to.
    pub(crate) fn file(&self) -> &File {
        self.0.file()
    }

    /// Moves the temporary file to the target.
    ///
    /// # Errors
    /// If that fails.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        let (target, temporary) = (self.0.target().to_owned(), self.0.temporary().map(Path::to_owned));
        self.0.commit().with_context(|| cannot_write(&target))?;
        temporary.iter().for_each(|temporary| cleanup::forget(temporary));
        Ok(())
    }
}

/// ` (in a new directory)` if writing `target` creates its directory: it may be a misspelled name.
pub(crate) fn new_directory_of(target: &Path) -> &'static str {
    if directory_of(target).is_some_and(|directory| !directory.exists()) {
        " (in a new directory)"
    } else {
        ""
    }
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
    file.flush().with_context(|| cannot_write(target))?;
    drop(file);
    output.commit()
}

/// Writes `bytes` to `target`, whole or not at all.
///
/// # Errors
/// If it cannot be written there.
pub(crate) fn write(target: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let output = Output::create(target)?;
    output.file().write_all(bytes).with_context(|| cannot_write(target))?;
    output.commit()
}

/// Removes a file, if there is one.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The directory of a file's name, unless that is the current one.
pub(crate) fn directory_of(target: &Path) -> Option<&Path> {
    target.parent().filter(|directory| !directory.as_os_str().is_empty())
}

/// Says what failed, and what to do.
pub(crate) fn cannot_write(target: &Path) -> String {
    format!("cannot write {}: choose another output", target.display())
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
