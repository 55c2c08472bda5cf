//! Limits on what is kept of a text. Together they bound the memory of a [`super::Dump`] to a few hundred
//! megabytes for any input; real dumps (the largest seen has 2.5 MB and 76 processes) stay far below.

/// Maximum length of a line in bytes; the rest is skipped. ART's longest line lists an app's libraries.
pub const LINE: usize = 64 << 10;
/// Maximum length of the line with ART's long running methods in base64.
pub const LONG_METHODS: usize = 4 << 20;
/// Maximum number of unpacked bytes read from one file.
pub const TEXT: u64 = 1 << 30;
/// Maximum length of a text that copying has damaged (HTML, lost line ends): it is restored in memory.
pub const PASTE: u64 = 16 << 20;
/// Maximum length of a thread dump in JSON.
pub const JSON: u64 = 256 << 20;
/// Maximum length of a zip archive's directory; `ENTRY` and `ARCHIVE` limit one entry and all entries,
/// unpacked.
pub const DIRECTORY: u64 = 32 << 20;
/// See [`DIRECTORY`].
pub const ENTRY: u64 = 512 << 20;
/// See [`DIRECTORY`].
pub const ARCHIVE: u64 = 2 << 30;
/// Maximum number of bytes kept for one file: texts, threads and frames.
pub const MEMORY: usize = 128 << 20;
/// Maximum number of frames per thread. ART stops a stack overflow's dump far earlier.
pub const FRAMES: usize = 4096;
/// Maximum number of remarks per thread, alternatives per frame, and events in the event log.
pub const REMARKS: usize = 64;

/// The beginning of a text: at most `bytes`, up to a character boundary.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
