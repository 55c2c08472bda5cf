//! Matrix's own data as a recording, so that it is exported, reported and compared as one.
//!
//! | what | told by |
//! | --- | --- |
//! | a raw `long[]` of `AppMethodBeat`, whole or a slice, 64-bit words of either byte order | its length and its times |
//! | reports: one JSON object, an array of them, or one a line | the first character |
//!
//! The result is a recording in memory with what Matrix knows and no more: one main thread, times of whole milliseconds. A
//! notice in it says what it was made of.

mod issue;
mod json;
mod layout;
mod words;

use std::path::Path;

use crate::ExportError;

/// The longest file of Matrix's that is read. Its ring has 8,000,000 bytes.
pub const MAX_LENGTH: u64 = 64 << 20;
/// Where the first word is put on the recording's axis, ns: 0 would mean "not known".
const BASE: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// The last millisecond that is believed: ten years. What lies beyond is put there.
const MAX_MS: u64 = 10 * 365 * 86_400_000;

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

/// A moment on the recording's axis.
fn at(ms: u64) -> u64 {
    BASE + ms.min(MAX_MS) * MS
}
