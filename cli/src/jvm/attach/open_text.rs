//! Texts of files that are open already, and were checked then.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// The longest text that is read of what is in a process's directory, bytes.
const MAX_LENGTH: u64 = 1 << 20;

/// Reads a text that the agent or an earlier attachment has written.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub(super) fn read(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_LENGTH).read_to_string(&mut text)?;
    Ok(text)
}

/// Replaces the content of an open file. By its path it could be another file by now.
///
/// # Errors
/// If it cannot be written.
pub(super) fn replace(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}
