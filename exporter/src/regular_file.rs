//! Opens regular files by name, to be read whole.

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes `open` return at once for a FIFO: O_NONBLOCK, from the systems' fcntl.h.
#[cfg(unix)]
const WITHOUT_WAITING: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 4 };

/// Opens a regular file. A device such as `/dev/zero` has no end, and opening a FIFO waits for a writer.
///
/// # Errors
/// If it does not exist, cannot be opened, or is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    let file = options.open(path)?;
    // Checks the opened file, since the name may have changed.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is not a regular file: save its contents in one and name that",
        ));
    }
    Ok(file)
}
