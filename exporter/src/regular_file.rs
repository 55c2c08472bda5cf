//! Files that are opened by name to be read whole.

use std::fs::File;
use std::io;
use std::path::Path;

/// Has `open` return at once for a FIFO: O_NONBLOCK, by the systems' fcntl.h.
#[cfg(unix)]
const WITHOUT_WAITING: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 4 };

/// Opens a regular file. A device such as `/dev/zero` has no end, and the opening of a FIFO waits for a writer.
///
/// # Errors
/// If it is not there, cannot be opened, or is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    let file = options.open(path)?;
    // Of what was opened, and not of what had the name before.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is not a regular file: save its contents in one and name that",
        ));
    }
    Ok(file)
}
