//! How much of a text is kept. All of it together bounds the memory of a [`super::Dump`] to a few hundred
//! megabytes, whatever the input; real dumps (the largest seen has 2.5 MB and 76 processes) stay far below.

/// Bytes of a line that are read; what is behind is skipped. ART's longest line lists an app's libraries.
pub const LINE: usize = 64 << 10;
/// Bytes of the line that has ART's long running methods, in base64.
pub const LONG_METHODS: usize = 4 << 20;
/// Bytes of text that are read of one file, unpacked.
pub const TEXT: u64 = 1 << 30;
/// Bytes of a text that copying has damaged (HTML, lost line ends): it is restored in memory.
pub const PASTE: u64 = 16 << 20;
/// Bytes of a thread dump in JSON.
pub const JSON: u64 = 256 << 20;
/// Bytes of a zip archive's directory, of one entry and of all entries that are read, unpacked.
pub const DIRECTORY: u64 = 32 << 20;
/// See [`DIRECTORY`].
pub const ENTRY: u64 = 512 << 20;
/// See [`DIRECTORY`].
pub const ARCHIVE: u64 = 2 << 30;
/// Bytes that may be kept for one file: texts, and what stands for each thread and frame.
pub const KEPT: usize = 128 << 20;
/// Frames of one thread. ART stops a stack overflow's dump far earlier.
pub const FRAMES: usize = 4096;
/// Remarks of one thread, alternatives of one frame, events of the event log.
pub const REMARKS: usize = 64;

/// The begin of a text: at most `bytes` of it, up to the end of a character.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
