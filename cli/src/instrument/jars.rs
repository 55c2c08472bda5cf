//! Directories of jars: each jar in them becomes an input.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, bail};
use instrumenter::Input;

use crate::terminal::{counted, warn};
use crate::walk::MAX_DEPTH;

/// The content of a directory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Whether there is a class file; then the search stopped.
    classes: bool,
    /// Jars and aars, by their relative paths, sorted.
    jars: Vec<PathBuf>,
    /// Other files.
    others: usize,
}

/// Replaces each directory that has jars and no class files by its jars. The path of an output below the directory's output is that of
/// the jar below the directory.
///
/// # Errors
/// If a directory cannot be read, or its output is inside it.
pub(super) fn expanded(inputs: Vec<Input>) -> anyhow::Result<Vec<Input>> {
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let found = match input.path.is_dir() {
            true => scan(&input.path).with_context(|| format!("cannot read {}", input.path.display()))?,
            false => Found { classes: true, ..Found::default() },
        };
        if found.classes || found.jars.is_empty() {
            if !found.classes {
                warn(format_args!("{}: no class file, jar or aar in it", input.path.display()))?;
            }
            all.push(input);
            continue;
        }
        let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if canonical(&input.output).starts_with(canonical(&input.path)) {
            bail!(
                "{} is inside the input {}, and would be one of its jars the next time: choose another output",
                input.output.display(),
                input.path.display()
            );
        }
        if found.others > 0 {
            let others = counted(found.others, "file");
            warn(format_args!("{}: skipped {others} beside the jars", input.path.display()))?;
        }
        for jar in found.jars {
            all.push(Input::new(input.path.join(&jar), input.output.join(&jar)));
        }
    }
    Ok(all)
}

/// Searches for class files, and for jars until there is one. Links to directories are not followed: they may lead in a cycle.
fn scan(directory: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    let mut pending = vec![(PathBuf::new(), 0)];
    while let Some((relative, depth)) = pending.pop() {
        for entry in fs::read_dir(directory.join(&relative))? {
            let entry = entry?;
            let name = relative.join(entry.file_name());
            let end = |end: &str| name.extension().is_some_and(|own| own.eq_ignore_ascii_case(end));
            if entry.file_type()?.is_dir() {
                if depth < MAX_DEPTH {
                    pending.push((name, depth + 1));
                }
            } else if name.extension().is_some_and(|own| own == "class") {
                found.classes = true;
                return Ok(found);
            } else if end("jar") || end("aar") {
                found.jars.push(name);
            } else {
                found.others += 1;
            }
        }
    }
    found.jars.sort();
    Ok(found)
}
