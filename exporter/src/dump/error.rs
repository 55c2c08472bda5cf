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
         (it begins with {begin:?}); {hint}",
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
        /// What it seems to be, and what to give instead.
        hint: &'static str,
    },
    /// A thread dump in JSON that cannot be read, and of which no thread was.
    #[error(
        "{}: cannot read the thread dump in JSON: {reason}; write it again with \
         `jcmd PID Thread.dump_to_file -format=json FILE`, or without -format=json",
        file.display()
    )]
    Json {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the line and column.
        reason: String,
    },
    /// A zip archive that cannot be read, has no dump, or unpacks to too much.
    #[error(
        "{}: cannot read the zip archive: {reason}; give the archive that `adb bugreport` wrote, or unpack it and give the \
         files of FS/data/anr",
        file.display()
    )]
    Archive {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
}
