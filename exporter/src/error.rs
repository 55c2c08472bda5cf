//! What can go wrong, in words that name the file, the place in it and the cure.

use std::io;
use std::path::PathBuf;

use trace_format::ReadError;

/// Why nothing could be exported or reported. What is merely odd is a [`crate::Warning`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file cannot be opened or read.
    #[error("{}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is no recording that can be read, or the device failed while it was.
    #[error("{}: {source}", file.display())]
    Recording {
        /// The recording.
        file: PathBuf,
        /// Where and why; it names the offset and the cure.
        source: ReadError,
    },
    /// A line of a method map cannot be.
    #[error("{}:{line}: {what}; take the methodMapping.txt that `anrscope instrument` wrote for this build", file.display())]
    MapLine {
        /// The map.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A method map is larger than any that the instrumenter writes.
    #[error(
        "{}: {length} bytes is more than a method map can have ({limit}): is it the right file?",
        file.display()
    )]
    MapTooLarge {
        /// The map.
        file: PathBuf,
        /// Its length.
        length: u64,
        /// The longest that is read.
        limit: u64,
    },
    /// Data of Tencent Matrix cannot be read.
    #[error("{}: {place}: {what}; recordings (*.anrscope), Matrix's reports as JSON and its raw long[] can be read", file.display())]
    Matrix {
        /// The file.
        file: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong there.
        what: &'static str,
    },
    /// A thread that was selected is in none of the recordings.
    #[error("no thread is called {wanted} or has that tid; there are {}", known.join(", "))]
    NoSuchThread {
        /// What was asked for.
        wanted: String,
        /// Some of the threads that there are.
        known: Vec<String>,
    },
    /// Nothing happened in the stretch of time that was selected.
    #[error("nothing is left to export: of the trace's {:.3} s the part from {:.3} s to {:.3} s was selected", seconds(*length), seconds(*from), seconds(*to))]
    EmptyPart {
        /// First moment of the part, ns since the begin of the trace.
        from: u64,
        /// Last moment of the part, ns since the begin of the trace.
        to: u64,
        /// How long the trace is, ns.
        length: u64,
    },
    /// The output cannot be written.
    #[error("writing the output failed: {0}")]
    Write(#[from] io::Error),
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
