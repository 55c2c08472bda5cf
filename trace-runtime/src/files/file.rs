//! Where the recording's file is made.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use trace_format::layout::Sizes;

use crate::memory::mapping::Mapping;

/// Where the recording goes.
#[derive(Clone, Debug)]
pub enum Destination {
    /// This file, which must not exist.
    File(PathBuf),
    /// A new file in this folder, named by process name and pid.
    Folder(PathBuf),
    /// Nowhere yet: it is recorded in memory until [`crate::set_destination`] says where to.
    Later,
}

/// Makes the file, with all its blocks on the disk; `None` if it is to be made later.
pub(crate) fn create(
    destination: &Destination,
    process_name: &str,
    sizes: &Sizes,
) -> io::Result<Option<(Mapping, PathBuf)>> {
    let folder = match destination {
        Destination::Later => return Ok(None),
        Destination::File(path) => return Ok(Some((Mapping::create(path, sizes)?, path.clone()))),
        Destination::Folder(folder) => folder,
    };
    private_folder(folder)?;
    // A pid comes again after a reboot: what lies there already is somebody's evidence.
    for attempt in 0..1_000 {
        let path = folder.join(file_name(process_name, attempt));
        match Mapping::create(&path, sizes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return Ok(Some((other?, path))),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Makes a folder that nobody else may look into, and those around it; one that is there stays as it is.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn file_name(process_name: &str, attempt: u32) -> String {
    let last = Path::new(process_name).file_name().map_or("process".into(), |n| n.to_string_lossy());
    let plain = plain(&last);
    let pid = std::process::id();
    if attempt == 0 { format!("{plain}-{pid}.anrscope") } else { format!("{plain}-{pid}.{attempt}.anrscope") }
}

/// A name that every file system takes.
pub(crate) fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    name.chars().take(64).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain_whatever_the_process_is_called() {
        let pid = std::process::id();
        assert_eq!(file_name("com.example:push", 0), format!("com.example_push-{pid}.anrscope"));
        assert_eq!(file_name("/usr/bin/../x y", 2), format!("x_y-{pid}.2.anrscope"));
        assert_eq!(file_name("..", 0), format!("process-{pid}.anrscope"));
    }
}
