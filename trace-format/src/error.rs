//! Why a recording cannot be read at all. What is merely incomplete is a [`Fault`], not an error.

use core::fmt;
use std::io;

/// The file is no recording that this version can read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The device failed.
    Io {
        /// Where in the file.
        offset: u64,
        /// Its error.
        source: io::Error,
    },
    /// The file ends inside its header.
    TooShort {
        /// Its length in bytes.
        length: u64,
    },
    /// It does not begin like a recording.
    NotARecording,
    /// A later format.
    NewerVersion {
        /// Its major version.
        major: u16,
    },
    /// A header field has an impossible value.
    BadHeader {
        /// Where in the file.
        offset: u64,
        /// The fault.
        what: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { offset, source } => write!(f, "reading at offset {offset} failed: {source}"),
            Self::TooShort { length } => write!(
                f,
                "it ends at offset {length}, inside the 4096-byte header: copy it again from the device"
            ),
            Self::NotARecording => {
                f.write_str("at offset 0: not an anrscope recording (those are named *.anrscope)")
            }
            Self::NewerVersion { major } => write!(
                f,
                "at offset 8: format version {major} is newer than this program reads ({}): update anrscope",
                crate::layout::MAJOR
            ),
            Self::BadHeader { offset, what } => {
                write!(f, "at offset {offset}: {what}; the header is damaged: copy the file again")
            }
        }
    }
}

impl core::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Something is missing or damaged; the rest was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The file ends before its fixed part does.
    Truncated {
        /// The length by the header.
        expected: u64,
        /// Length of the file.
        actual: u64,
    },
    /// A region is outside of the file or has no whole number of blocks; it was skipped.
    BadRegion {
        /// Where its table entry is.
        offset: u64,
    },
    /// A block with an impossible header; it was skipped.
    BadBlock {
        /// Where it starts.
        offset: u64,
    },
    /// An event whose payload passes the head; the rest of its block was skipped.
    BadEvent {
        /// Where its first word is.
        offset: u64,
    },
    /// An impossible entry of the string table; the rest of the table was skipped.
    BadString {
        /// Where it is.
        offset: u64,
    },
    /// A section that does not match its sum, or is cut.
    BadSection {
        /// Where it starts.
        offset: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { expected, actual } => {
                write!(
                    f,
                    "truncated at offset {actual} of at least {expected} bytes: copy it again to get the rest"
                )
            }
            Self::BadRegion { offset } => write!(f, "region entry at offset {offset} is damaged, left out"),
            Self::BadBlock { offset } => write!(f, "block at offset {offset} is damaged, left out"),
            Self::BadEvent { offset } => {
                write!(f, "event at offset {offset} is damaged, the rest of its block left out")
            }
            Self::BadString { offset } => {
                write!(f, "string table is damaged at offset {offset}, the texts behind it left out")
            }
            Self::BadSection { offset } => write!(f, "section at offset {offset} is damaged, left out"),
        }
    }
}
