//! Opens regular files by the names that others gave.
//!
//! Opening a pipe waits for its writer, a device may have no end, and some act as soon as they are opened.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Makes `open` return at once for a pipe that takes the file's place: O_NONBLOCK, from the systems' fcntl.h.
#[cfg(unix)]
const WITHOUT_WAITING: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 4 };

/// Opens the regular file at `path`, following links, and returns it with its metadata.
///
/// # Errors
/// If it does not exist, cannot be opened, or is no regular file.
///
/// # Examples
/// ```
/// use std::path::Path;
/// use trace_format::regular_file::open;
///
/// assert!(open(Path::new("Cargo.toml"))?.1.len() > 0);
/// assert_eq!(open(Path::new("src")).unwrap_err().kind(), std::io::ErrorKind::IsADirectory);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    check(&std::fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    let file = options.open(path)?;
    // The name may have changed meanwhile.
    let metadata = file.metadata()?;
    check(&metadata)?;
    Ok((file, metadata))
}

fn check(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(match metadata.is_dir() {
        true => io::Error::new(io::ErrorKind::IsADirectory, "this is a directory, not a file"),
        false => io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is not a regular file: save its contents in one and name that",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::open;
    use std::path::Path;

    #[cfg(unix)]
    #[test]
    fn a_pipe_and_a_device_are_refused_at_once() {
        let pipe = std::env::temp_dir().join(format!("anrscope-regular-file-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        let refused = [pipe.as_path(), Path::new("/dev/zero")].map(|path| open(path).map(drop).unwrap_err());
        std::fs::remove_file(&pipe).expect("the pipe is ours");
        assert!(refused.iter().all(|error| error.to_string().contains("not a regular file")), "{refused:?}");
    }
}
