//! Opening files of directories that others may have filled.
//!
//! A pipe keeps its reader waiting for a writer, and a device may have no end: neither is read.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Has `open` return at once for a pipe: O_NONBLOCK, by the systems' fcntl.h.
#[cfg(unix)]
const WITHOUT_WAITING: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 4 };

/// Opens the regular file at `path`, links followed.
///
/// # Errors
/// If it cannot be opened, or is something else.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    let file = options.open(path)?;
    // Of what was opened, and not of what had the name before.
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false if metadata.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, socket or device, and no file"))
        }
    }
}
