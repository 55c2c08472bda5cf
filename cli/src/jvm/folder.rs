//! Folders on a class path: which can be copied whole, and the classes of the others.
//!
//! The current folder is the default class path, and may be anything: a home folder, a build tree of
//! gigabytes, the very folder into which we write. Such a folder stays on the class path, behind a copy
//! of its classes.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::own_folder::is_ours;

/// Bytes of other files that are copied along with classes.
const MAX_OTHER_BYTES: u64 = 64 << 20;
/// Entries that are looked at before a folder counts as large.
const MAX_ENTRIES: usize = 20_000;
/// How deep packages may lie. Links that lead in a circle end here at the latest.
const MAX_DEPTH: usize = 64;

/// Whether `folder` (canonical) is what a compiler and a build tool write: files and folders, not too
/// many of them, none of which is `ours` or an earlier run's.
pub(crate) fn is_plain(folder: &Path, ours: &Path) -> bool {
    let holds_ours = fs::canonicalize(ours).is_ok_and(|ours| ours.starts_with(folder));
    !holds_ours && plain_below(folder).unwrap_or(false)
}

fn plain_below(folder: &Path) -> io::Result<bool> {
    let (mut bytes, mut entries) = (0, 0);
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder)? {
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
            // Through a link: one to a file is copied as that file.
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

/// Copies the classes below `folder`, links followed, to `copy`, but not those in `ours` or in what an
/// earlier run has written: they would be instrumented once more. What cannot be read is left out: the
/// JVM will find it, or not, in the folder itself.
///
/// # Errors
/// If the copy cannot be written.
pub(crate) fn copy_classes(folder: &Path, copy: &Path, ours: &Path) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    let ours = fs::canonicalize(ours).unwrap_or_else(|_| ours.to_owned());
    let mut seen = HashSet::new();
    let mut pending = vec![(folder.to_owned(), PathBuf::new())];
    while let Some((from, relative)) = pending.pop() {
        // The folder itself is meant, whatever else is written there.
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
    fn a_folder_that_holds_ours_or_a_link_is_not_copied_whole() {
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
        // Of runs with other folders.
        scratch.file("in/x/run/.anrscope-run", b"");
        scratch.file("in/x/run/E.class", b"x");
        scratch.file("in/old/runtime/libanrscope.so", b"");
        scratch.file("in/old/instrumented/F.class", b"x");
        let root = scratch.path();
        std::os::unix::fs::symlink("../other", root.join("in/linked")).unwrap();
        std::os::unix::fs::symlink("..", root.join("in/p/circle")).unwrap();
        copy_classes(&root.join("in"), &root.join("out"), &root.join("in/ours")).unwrap();
        for (name, there) in [
            ("A.class", true),
            ("p/B.class", true),
            ("linked/D.class", true),
            ("text", false),
            ("ours/C.class", false),
            ("p/circle/A.class", false),
            ("x/run/E.class", false),
            ("old/instrumented/F.class", false),
        ] {
            assert_eq!(root.join("out").join(name).exists(), there, "{name}");
        }
        // We may write right into the folder.
        copy_classes(&root.join("in"), &root.join("beside"), &root.join("in")).unwrap();
        assert!(root.join("beside/A.class").exists() && !root.join("beside/x").exists());
    }
}
