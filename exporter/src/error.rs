//! The errors of this crate: each names the file, the place in it and the cure.

use std::io;
use std::path::{Path, PathBuf};

use trace_format::ReadError;

/// Why an export or report failed. Non-fatal problems are [`crate::Warning`]s.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file cannot be opened or read.
    #[error("cannot read {}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file is not a readable recording, or reading it failed.
    #[error("cannot read {}: {source}", file.display())]
    Recording {
        /// The recording.
        file: PathBuf,
        /// The place and the reason, with the offset and the cure.
        source: ReadError,
    },
    /// Invalid line in a method map.
    #[error("cannot read {}:{line}: {what}; pass the methodMapping.txt that `anrscope instrument` wrote for this build", file.display())]
    MapLine {
        /// The map.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem.
        what: &'static str,
    },
    /// A method map is larger than any that the instrumenter writes.
    #[error(
        "cannot read {}: {length} bytes exceed the limit of a method map ({limit}): is it the right file?",
        file.display()
    )]
    MapTooLarge {
        /// The map.
        file: PathBuf,
        /// Its length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// Data of Tencent Matrix cannot be read.
    #[error("cannot read {}: {place}: {what}; pass a recording (*.anrscope), Matrix's reports as JSON, or its raw long[]", file.display())]
    Matrix {
        /// The file.
        file: PathBuf,
        /// The place in it.
        place: String,
        /// The problem.
        what: &'static str,
    },
    /// A selected thread is not in any of the recordings.
    #[error("no thread has the name or tid {wanted}; the threads are: {}", known.join(", "))]
    NoSuchThread {
        /// The requested thread.
        wanted: String,
        /// Some of the existing threads.
        known: Vec<String>,
    },
    /// The selected time range contains nothing.
    #[error("nothing to export: the trace has {:.3} s, and the part from {:.3} s to {:.3} s was selected", seconds(*length), seconds(*from), seconds(*to))]
    EmptyPart {
        /// Start of the range, ns since the start of the trace.
        from: u64,
        /// End of the range, ns since the start of the trace.
        to: u64,
        /// Length of the trace, ns.
        length: u64,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
}

impl ExportError {
    /// Adds the recording's file name to a reader's error.
    pub(crate) fn reading(file: &Path) -> impl Fn(ReadError) -> Self + Copy + '_ {
        |source| Self::Recording { file: file.to_owned(), source }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
