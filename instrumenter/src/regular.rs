//! Opens regular files in directories with untrusted content.
//!
//! A pipe would wait for a writer, and a device may have no end: neither is read.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// O_NONBLOCK from the system's fcntl.h: `open` returns at once for a pipe.
#[cfg(unix)]
const WITHOUT_WAITING: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 4 };

/// Opens the regular file at `path`, links followed.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    let file = options.open(path)?;
    // Metadata of the opened file, not of the path.
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false if metadata.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, socket or device, not a file"))
        }
    }
}
