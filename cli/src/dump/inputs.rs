//! Reads the dumps of the command line: files, archives, directories, stdin.

use std::io;
use std::path::{Path, PathBuf};

use answers::dump::{Dump, DumpError};
use anyhow::{Context, bail};

use crate::file_kind;
use crate::terminal::{MAX_NAMED, counted, warn, warn_all};
use crate::walk;

/// What a directory has beside dumps.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Files that are not dumps.
    pub(super) others: u64,
    /// Files that could not be read.
    pub(super) unread: u64,
}

/// Takes a dump and its name.
type Each<'a> = &'a mut dyn FnMut(String, Dump) -> anyhow::Result<()>;

/// Passes each dump of `inputs` to `each`, with its name.
pub(super) fn each(inputs: &[PathBuf], each: Each<'_>) -> anyhow::Result<Passed> {
    let mut passed = Passed::default();
    for input in inputs {
        if input == Path::new("-") {
            each("-".to_owned(), Dump::read(Path::new("stdin"), io::stdin().lock())?)?;
            continue;
        }
        let meta = std::fs::metadata(input)
            .with_context(|| format!("cannot read {}: name an existing dump", input.display()))?;
        if meta.is_dir() {
            directory(input, &mut passed, each)?;
        } else {
            file(input, each)
                .map_err(|error| file_kind::error_of("dump", input).unwrap_or_else(|| error.into()))??;
        }
    }
    Ok(passed)
}

/// Reads a file; the inner result is that of `each`.
fn file(path: &Path, each: Each<'_>) -> Result<anyhow::Result<()>, DumpError> {
    let mut result = Ok(());
    let opened = Dump::open_each(path, &mut |name, dump| {
        if result.is_ok() {
            result = each(name, dump);
        }
    })?;
    Ok(result.and_then(|()| Ok(warn_all(opened.warnings)?)))
}

fn directory(path: &Path, passed: &mut Passed, each: Each<'_>) -> anyhow::Result<()> {
    // Pipes and devices have no end.
    let files = walk::files(path, usize::MAX, |_, kind| kind.is_file())?;
    let (mut dumps, mut others, mut unread) = (0_u64, 0_u64, 0_usize);
    for path in &files {
        // An unreadable file does not stop the others.
        match file(path, &mut |name, dump| {
            dumps += 1;
            each(name, dump)
        }) {
            Ok(result) => result?,
            Err(DumpError::NoDump { .. }) => others += 1,
            Err(error) => {
                unread += 1;
                if unread <= MAX_NAMED {
                    warn(error)?;
                }
            }
        }
    }
    if unread > MAX_NAMED {
        warn(format_args!("{} more of {} could not be read", unread - MAX_NAMED, path.display()))?;
    }
    if dumps == 0 {
        bail!(
            "{}: none of {} in this directory is a thread dump",
            path.display(),
            counted(files.len(), "file")
        );
    }
    if others > 0 {
        warn(format_args!("{}: skipped {}: not a thread dump", path.display(), counted(others, "file")))?;
    }
    passed.others += others;
    passed.unread += unread as u64;
    Ok(())
}
