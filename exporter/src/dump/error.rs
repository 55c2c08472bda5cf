//! Why there is no dump.

use std::io;
use std::path::PathBuf;

/// A text from which nothing could be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The file cannot be opened or read.
    #[error("{}: offset {offset}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// How many bytes had been read, unpacked.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is no thread, no header and no event of a dump in it.
    #[error(
        "{}: offset {offset}: no thread dump: {length} bytes were read, and no line of it is one of a dump \
         (it begins with {begin:?}); give the text that Android wrote: /data/anr/*, \
         ApplicationExitInfo.getTraceInputStream(), or a part of it with a thread's first line",
        file.display()
    )]
    NoDump {
        /// The file.
        file: PathBuf,
        /// Where the first line that is not empty begins.
        offset: u64,
        /// How many bytes there are, unpacked.
        length: u64,
        /// How that line begins.
        begin: String,
    },
}
