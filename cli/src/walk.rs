//! Lists the files of a directory tree.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Maximum depth of subdirectories that are searched for files.
pub(crate) const MAX_DEPTH: usize = 16;

/// The files below `directory` that `wanted` accepts, sorted by name.
///
/// # Errors
/// If a directory cannot be read, or `wanted` accepts more than `limit` files.
pub(crate) fn files(
    directory: &Path,
    limit: usize,
    wanted: impl Fn(&Path, FileType) -> bool,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![(directory.to_owned(), 0)];
    while let Some((inner, depth)) = directories.pop() {
        let failed = || format!("cannot read {}", inner.display());
        for entry in std::fs::read_dir(&inner).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            // Links to directories are not followed: they may lead in a cycle.
            let kind = entry.file_type().with_context(failed)?;
            let path = entry.path();
            if kind.is_dir() {
                if depth < MAX_DEPTH {
                    directories.push((path, depth + 1));
                }
            } else if wanted(&path, kind) {
                if found.len() == limit {
                    bail!("{} has more than {limit} files: name a smaller directory", directory.display());
                }
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn named(scratch: &Scratch, limit: usize) -> anyhow::Result<Vec<String>> {
        let found = files(scratch.path(), limit, |path, kind| {
            kind.is_file() && path.extension().is_some_and(|extension| extension == "a")
        })?;
        let name = |path: &PathBuf| path.strip_prefix(scratch.path()).unwrap().to_str().unwrap().to_owned();
        Ok(found.iter().map(name).collect())
    }

    #[test]
    fn wanted_files_are_found_by_name_at_any_usual_depth() {
        let scratch = Scratch::new();
        let deep = |depth: usize| (0..depth).map(|_| "d/").collect::<String>();
        for name in
            ["2.a", "1.a", "1.b", &format!("{}3.a", deep(MAX_DEPTH)), &format!("{}4.a", deep(MAX_DEPTH + 1))]
        {
            let path = scratch.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        assert_eq!(named(&scratch, 3).unwrap(), ["1.a", "2.a", &format!("{}3.a", deep(MAX_DEPTH))]);
        let error = named(&scratch, 2).unwrap_err().to_string();
        assert!(error.ends_with("has more than 2 files: name a smaller directory"), "{error}");
        assert!(files(&scratch.path().join("missing"), 1, |_, _| true).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_in_a_cycle_is_not_followed() {
        let scratch = Scratch::new();
        scratch.file("1.a", b"");
        std::os::unix::fs::symlink(scratch.path(), scratch.path().join("again")).unwrap();
        assert_eq!(named(&scratch, 9).unwrap(), ["1.a"]);
    }
}
