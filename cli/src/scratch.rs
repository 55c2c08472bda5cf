//! Temporary directories.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory under the system's one for temporary files, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a directory that only this user can read.
    pub(crate) fn create() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let root = std::env::temp_dir();
        // Absolute, since a program that uses it may change its working directory.
        let root = std::path::absolute(root)?;
        loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("anrscope-{}-{n}", std::process::id()));
            match private_builder().create(&path) {
                Ok(()) => {
                    crate::cleanup::add(&path);
                    return Ok(Self { path });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates directories that only this user can read.
pub(crate) fn private_builder() -> std::fs::DirBuilder {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "the mode is set on Unix"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's cleaning of temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
        crate::cleanup::forget(&self.path);
    }
}

#[cfg(test)]
impl Scratch {
    /// For tests, which need no error.
    pub(crate) fn new() -> Self {
        Self::create().expect("a directory for temporary files")
    }

    /// Writes a file, with its parent directories.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a directory")).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_and_removed_when_dropped() {
        let scratch = Scratch::new();
        let path = scratch.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_ne!(Scratch::new().path(), path);
        drop(scratch);
        assert!(!path.exists());
    }
}
