//! Matrix's own data as a recording, so that it is exported, reported and compared as one.
//!
//! | what | told by |
//! | --- | --- |
//! | a raw `long[]` of `AppMethodBeat`, whole or a slice, 64-bit words of either byte order | its length and its times |
//! | reports: one JSON object, an array of them, or one a line | the first character |
//!
//! The result is a recording in memory with what Matrix knows and no more: one main thread, times of whole milliseconds. A
//! notice in it says what it was made of.

mod axis;
mod issue;
mod json;
mod layout;
mod words;

use std::path::Path;

use crate::ExportError;

/// The longest file of Matrix's that is read. Its ring has 8,000,000 bytes.
pub const MAX_LENGTH: u64 = 64 << 20;
/// The recording that stands for the Matrix data in `bytes`; nothing if they are none.
///
/// # Errors
/// If they are reports of Matrix's, and one of them cannot be read.
pub fn recording_of(file: &Path, bytes: &[u8]) -> Option<Result<Vec<u8>, ExportError>> {
    let bad =
        |(place, what): (String, &'static str)| ExportError::Matrix { file: file.to_owned(), place, what };
    match bytes.iter().find(|b| !b.is_ascii_whitespace())? {
        b'{' | b'[' => Some(issue::recording(bytes).map_err(bad)),
        _ => words::recording(bytes).map(Ok),
    }
}
