//! Copies Perfetto traces into one, and finds in each what must be consistent with the others.
//!
//! The format has no header and no end, so traces are concatenated packet by packet. [`Walk`] copies one of them and returns its
//! [`TraceFacts`]: tracks that two traces number alike, boots that differ and runs that are given twice are the caller's to report.
//! A [`Budget`] bounds what the traces may unpack to, since a few bytes can stand for gigabytes.
//!
//! ```
//! use exporter::merge::{Budget, Walk};
//!
//! // One packet: the descriptor of track 7.
//! let trace = [0x0A, 5, 0xE2, 0x03, 2, 0x08, 7];
//! let (budget, mut latest, mut out) = (Budget::for_inputs(trace.len() as u64), 0, Vec::new());
//! let mut walk = Walk::new("a.pftrace".as_ref(), &mut out, &budget, &mut latest);
//! walk.all(&trace[..])?;
//! let (facts, warnings) = walk.finish()?;
//! assert!(facts.tracks.contains(&7) && warnings.is_empty());
//! assert_eq!(out, trace);
//! # Ok::<(), exporter::merge::MergeError>(())
//! ```

mod budget;
mod copy;
mod error;
mod packets;
mod system_facts;
mod trace_facts;

pub use budget::{Budget, Metered};
pub use copy::RemoveEnd;
pub use error::{Damage, MergeError};
pub use packets::Walk;
pub use system_facts::SystemFacts;
pub use trace_facts::{Run, TraceFacts, runs_in};
