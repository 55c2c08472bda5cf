//! Creates and names the recording's file.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trace_format::layout::Sizes;

use crate::memory::mapping::Mapping;

/// Where the recording is stored.
#[derive(Clone, Debug)]
pub enum Destination {
    /// This file, which must not exist.
    File(PathBuf),
    /// A new file in this directory, named by process name and pid.
    Directory(PathBuf),
    /// Not known yet: it is recorded in memory until [`crate::set_destination`] is called.
    Later,
}

/// The suffix of a recording's name until the recording can be read.
pub const UNFINISHED: &str = ".part";

/// No process takes longer from the creation of an unfinished file to its lock.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Creates the file, with all its blocks allocated, under the recording's name and [`UNFINISHED`]; `None` if
/// it is to be created later. Also returns the recording's name, which the file gets by [`publish`].
pub(crate) fn create(
    destination: &Destination,
    process_name: &str,
    sizes: &Sizes,
) -> io::Result<Option<(Mapping, PathBuf)>> {
    let directory = match destination {
        Destination::Later => return Ok(None),
        Destination::File(path) => return Ok(Some((create_as(path, sizes)?, path.clone()))),
        Destination::Directory(directory) => directory,
    };
    private_directory(directory)?;
    // A pid recurs after a reboot: an existing recording may be evidence.
    for attempt in 0..1_000 {
        let path = directory.join(file_name(process_name, attempt));
        match create_as(&path, sizes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return Ok(Some((other?, path))),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Creates the unfinished file of the recording `path`, neither of which may exist.
///
/// A process that wants the same name fails at the unfinished file, or finds the recording: so [`publish`]
/// replaces no file.
fn create_as(path: &Path, sizes: &Sizes) -> io::Result<Mapping> {
    let part = unfinished(path);
    remove_abandoned(&part);
    let mapping = Mapping::create(&part, sizes)?;
    if std::fs::symlink_metadata(path).is_ok() {
        let _ = std::fs::remove_file(&part);
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(mapping)
}

/// Gives the unfinished file the recording's name. Its header must be complete.
///
/// # Errors
/// Those of rename(2): the directory is gone.
pub(crate) fn publish(path: &Path) -> io::Result<()> {
    std::fs::rename(unfinished(path), path)
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// Removes the file of a process that was killed before it could publish it. A living process holds the lock.
pub fn remove_abandoned(part: &Path) {
    let Ok(file) = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(part) else { return };
    let old = file.metadata().is_ok_and(|of| {
        of.is_file() && of.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER))
    });
    // SAFETY: flock takes a descriptor that is open and touches no memory. The lock ends with `file`.
    if old && unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        let _ = std::fs::remove_file(part);
    }
}

/// Creates a private directory, and its parents; an existing one stays as it is.
pub fn private_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn file_name(process_name: &str, attempt: u32) -> String {
    let last = Path::new(process_name).file_name().map_or("process".into(), |n| n.to_string_lossy());
    let plain = plain(&last);
    let pid = std::process::id();
    if attempt == 0 { format!("{plain}-{pid}.anrscope") } else { format!("{plain}-{pid}.{attempt}.anrscope") }
}

/// A name that every file system takes.
pub fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    name.chars().take(64).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    const SMALL: Sizes = Sizes {
        main_blocks: 2,
        pool_blocks: 2,
        service_blocks: 2,
        threads: 4,
        string_bytes: 4096,
        native_slots: 0,
    };

    fn names(directory: &Path) -> Vec<String> {
        let name = |e: io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = std::fs::read_dir(directory).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_recording_has_its_name_only_after_it_was_published_and_replaces_no_other() {
        let directory = std::env::temp_dir().join(format!("anrscope-publish-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        let destination = Destination::Directory(directory.clone());
        let pid = std::process::id();
        let (_mapping, path) = create(&destination, "app", &SMALL).unwrap().unwrap();
        assert_eq!(names(&directory), [format!("app-{pid}.anrscope.part")]);
        let (_second, other) = create(&destination, "app", &SMALL).unwrap().unwrap();
        assert_ne!(path, other);
        publish(&path).unwrap();
        publish(&other).unwrap();
        assert_eq!(names(&directory), [format!("app-{pid}.1.anrscope"), format!("app-{pid}.anrscope")]);
        let refused = create(&Destination::File(path), "app", &SMALL).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(&directory).len(), 2, "nothing is left of the refused one");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn an_unfinished_file_goes_once_it_is_old_and_its_process_is_gone() {
        let directory = std::env::temp_dir().join(format!("anrscope-abandoned-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let part = directory.join("app-1.anrscope.part");
        let file = std::fs::File::create(&part).unwrap();
        remove_abandoned(&part);
        assert!(part.exists(), "it may not have its lock yet");
        file.set_modified(SystemTime::now() - 2 * ABANDONED_AFTER).unwrap();
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
        remove_abandoned(&part);
        assert!(part.exists(), "its process lives");
        drop(file);
        remove_abandoned(&part);
        assert!(!part.exists());
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn file_names_are_plain_for_any_process_name() {
        let pid = std::process::id();
        assert_eq!(file_name("com.example:push", 0), format!("com.example_push-{pid}.anrscope"));
        assert_eq!(file_name("/usr/bin/../x y", 2), format!("x_y-{pid}.2.anrscope"));
        assert_eq!(file_name("..", 0), format!("process-{pid}.anrscope"));
    }
}
