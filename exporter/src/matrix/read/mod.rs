//! Reads Matrix's own data as a recording, so that it can be exported, reported and compared.
//!
//! | input | recognised by |
//! | --- | --- |
//! | a raw `long[]` of `AppMethodBeat`, whole or a slice, 64-bit words of either byte order | its length and its times |
//! | reports: one JSON object, an array of them, or one per line | the first character |
//!
//! The result is a recording in memory with Matrix's data and no more: one main thread, times in whole
//! milliseconds. A notice in it names its source.

mod axis;
mod issue;
mod json;
mod layout;
mod words;

use std::path::Path;

use crate::ExportError;

/// Maximum length of a Matrix file. Its ring has 8,000,000 bytes.
pub const MAX_LENGTH: u64 = 64 << 20;
/// Converts the Matrix data in `bytes` to a recording; `None` if they are not Matrix data.
///
/// # Errors
/// If they are Matrix reports, and one of them cannot be read.
pub fn recording_of(file: &Path, bytes: &[u8]) -> Option<Result<Vec<u8>, ExportError>> {
    let bad =
        |(place, what): (String, &'static str)| ExportError::Matrix { file: file.to_owned(), place, what };
    match bytes.iter().find(|b| !b.is_ascii_whitespace())? {
        b'{' | b'[' => Some(issue::recording(bytes).map_err(bad)),
        _ => words::recording(bytes).map(Ok),
    }
}
