//! Errors of copying a trace.

use std::io;
use std::path::PathBuf;

/// The reason why a trace cannot be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The trace cannot be read.
    #[error("cannot read {}", file.display())]
    Read {
        /// The trace.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A packet is damaged.
    #[error("{}: offset {offset}: name a complete Perfetto trace", file.display())]
    Damaged {
        /// The trace.
        file: PathBuf,
        /// Start of the packet.
        offset: u64,
        /// The problem.
        source: Damage,
    },
    /// The trace unpacks to more than the budget allows.
    #[error(
        "{}: offset {offset}: the compressed data here unpacks to more than {} MiB (the limit is 64 times the size of the inputs, \
         and 64 MiB at least): if the trace is right, unpack it first (gunzip, or traceconv decompress_packets)",
        file.display(),
        limit >> 20
    )]
    UnpacksToMore {
        /// The trace.
        file: PathBuf,
        /// Start of the packet.
        offset: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// The file has no packets.
    #[error("{} has no packets: name a Perfetto trace", file.display())]
    NoPackets {
        /// The file.
        file: PathBuf,
    },
    /// The output cannot be written.
    #[error("cannot write the output")]
    Write(#[source] io::Error),
    /// The output cannot be cut short, as a pipe cannot.
    #[error("cannot remove a packet from this output: write to a file")]
    Remove(#[source] io::Error),
}

/// A problem in the bytes of a packet.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Damage(pub(super) String);
