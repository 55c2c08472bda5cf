//! Directories on a class path: which can be copied whole, and the classes of the others.
//!
//! The current directory is the default class path and may be anything: a home directory, a build tree of gigabytes, or the very
//! directory that this program writes into. Such a directory stays on the class path, after a copy of its classes.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::own_dir::is_ours;

/// Maximum size of other files that are copied along with classes.
const MAX_OTHER_BYTES: u64 = 64 << 20;
/// A directory with more entries than this counts as large.
const MAX_ENTRIES: usize = 20_000;
/// Maximum depth of packages. Links that lead in a cycle end here at the latest.
const MAX_DEPTH: usize = 64;

/// Whether `directory` (canonical) looks like the output of a compiler or build tool: files and directories, not too many of them, and
/// none of them is `ours` or an earlier run's.
pub(crate) fn is_plain(directory: &Path, ours: &Path) -> bool {
    let holds_ours = fs::canonicalize(ours).is_ok_and(|ours| ours.starts_with(directory));
    !holds_ours && plain_below(directory).unwrap_or(false)
}

fn plain_below(directory: &Path) -> io::Result<bool> {
    let (mut bytes, mut entries) = (0, 0);
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            entries += 1;
            if kind.is_dir() {
                if is_ours(&entry.path()) {
                    return Ok(false);
                }
                pending.push(entry.path());
                continue;
            }
            // Through a link: a link to a file is copied as that file.
            let meta = fs::metadata(entry.path())?;
            if !is_class(&entry.path()) {
                bytes += meta.len();
            }
            if !meta.is_file() || bytes > MAX_OTHER_BYTES || entries > MAX_ENTRIES {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn is_class(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "class")
}

/// Copies the classes below `directory`, links followed, to `copy`, without those in `ours` or written by an earlier run: they would be
/// instrumented a second time. Unreadable files are left out: the JVM will find them, or not, in the directory itself.
///
/// # Errors
/// If the copy cannot be written.
pub(crate) fn copy_classes(directory: &Path, copy: &Path, ours: &Path) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    let ours = fs::canonicalize(ours).unwrap_or_else(|_| ours.to_owned());
    let mut seen = HashSet::new();
    let mut pending = vec![(directory.to_owned(), PathBuf::new())];
    while let Some((from, relative)) = pending.pop() {
        // The directory itself is always copied, even if it is `ours`.
        let root = relative.as_os_str().is_empty();
        let first = fs::canonicalize(&from)
            .is_ok_and(|path| (root || path != ours && !is_ours(&path)) && seen.insert(path));
        let Some(entries) = fs::read_dir(&from).ok().filter(|_| first && relative.iter().count() < MAX_DEPTH)
        else {
            continue;
        };
        for entry in entries.flatten() {
            let (path, relative) = (entry.path(), relative.join(entry.file_name()));
            let Ok(meta) = fs::metadata(&path) else { continue };
            if meta.is_dir() {
                pending.push((path, relative));
            } else if meta.is_file()
                && is_class(&path)
                && let Ok(bytes) = fs::read(&path)
            {
                let to = copy.join(&relative);
                fs::create_dir_all(to.parent().unwrap_or(copy))?;
                fs::write(to, bytes)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_directory_that_contains_ours_or_a_link_is_not_copied_whole() {
        let scratch = Scratch::new();
        scratch.file("plain/a/B.class", b"x");
        scratch.file("plain/r.txt", b"x");
        scratch.file("linked/a/B.class", b"x");
        let root = fs::canonicalize(scratch.path()).unwrap();
        let elsewhere = root.join("keep");
        assert!(is_plain(&root.join("plain"), &elsewhere));
        assert!(!is_plain(&root.join("plain"), &root.join("plain/a")));
        assert!(!is_plain(&root.join("plain"), &root.join("plain")));
        std::os::unix::fs::symlink("..", root.join("linked/up")).unwrap();
        assert!(!is_plain(&root.join("linked"), &elsewhere));
        scratch.file("kept/run/.anrscope-run", b"");
        assert!(!is_plain(&root.join("kept"), &elsewhere));
        let big = fs::File::create(root.join("plain/big")).unwrap();
        big.set_len(MAX_OTHER_BYTES + 1).unwrap();
        assert!(!is_plain(&root.join("plain"), &elsewhere));
    }

    #[test]
    fn classes_are_copied_once_each_and_without_ours() {
        let scratch = Scratch::new();
        for name in ["in/A.class", "in/p/B.class", "in/text", "in/ours/C.class", "other/D.class"] {
            scratch.file(name, name.as_bytes());
        }
        // Of runs with other directories.
        scratch.file("in/x/run/.anrscope-run", b"");
        scratch.file("in/x/run/E.class", b"x");
        scratch.file("in/old/runtime/libanrscope.so", b"");
        scratch.file("in/old/instrumented/F.class", b"x");
        let root = scratch.path();
        std::os::unix::fs::symlink("../other", root.join("in/linked")).unwrap();
        std::os::unix::fs::symlink("..", root.join("in/p/cycle")).unwrap();
        copy_classes(&root.join("in"), &root.join("out"), &root.join("in/ours")).unwrap();
        for (name, there) in [
            ("A.class", true),
            ("p/B.class", true),
            ("linked/D.class", true),
            ("text", false),
            ("ours/C.class", false),
            ("p/cycle/A.class", false),
            ("x/run/E.class", false),
            ("old/instrumented/F.class", false),
        ] {
            assert_eq!(root.join("out").join(name).exists(), there, "{name}");
        }
        // The run may write directly into the directory.
        copy_classes(&root.join("in"), &root.join("beside"), &root.join("in")).unwrap();
        assert!(root.join("beside/A.class").exists() && !root.join("beside/x").exists());
    }
}
