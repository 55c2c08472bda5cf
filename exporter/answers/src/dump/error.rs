//! Errors of reading a dump.

use std::io;
use std::path::PathBuf;

/// Why a file could not be read as a dump.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: offset {offset}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Number of bytes read so far, unpacked.
        offset: u64,
        /// The operating system's error.
        source: io::Error,
    },
    /// The input contains no thread, header or event of a dump.
    #[error(
        "cannot read {}: offset {offset}: no thread dump: {length} bytes were read, and none of its lines belongs to a dump \
         (it begins with {begin:?}); {hint}",
        file.display()
    )]
    NoDump {
        /// The file.
        file: PathBuf,
        /// Offset of the first non-empty line.
        offset: u64,
        /// Total length in bytes, unpacked.
        length: u64,
        /// The beginning of that line.
        begin: String,
        /// What the input seems to be, and what to provide instead.
        hint: &'static str,
    },
    /// A thread dump in JSON that cannot be parsed up to its first thread.
    #[error(
        "cannot read {} as a thread dump in JSON: {reason}; write it again with \
         `jcmd PID Thread.dump_to_file -format=json FILE`, or without -format=json",
        file.display()
    )]
    Json {
        /// The file.
        file: PathBuf,
        /// The problem, with line and column.
        reason: String,
    },
    /// A zip archive that cannot be read, has no dump, or unpacks to too much.
    #[error(
        "cannot read {} as a zip archive: {reason}; pass the archive that `adb bugreport` wrote, or unpack it and pass the \
         files of FS/data/anr",
        file.display()
    )]
    Archive {
        /// The file.
        file: PathBuf,
        /// The problem.
        reason: String,
    },
}
