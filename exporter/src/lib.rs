//! Converts recordings to Perfetto traces, Chrome JSON and reports.
//!
//! ```text
//! recording -> facts (sections, signals, what each thread did) -> model (slices) -> Perfetto | JSON
//!                                                              -> report | Matrix's form | diff | plan | profile
//! ```
//!
//! ```
//! use std::path::Path;
//! use exporter::{ExportInput, ExportOptions, MethodMap, export};
//! use trace_format::{Recording, synth::RecordingBuilder};
//!
//! let bytes = RecordingBuilder::new(42, "com.example")
//!     .main("main", |t| {
//!         t.enter(2_000, 7).exit(3_000, 7);
//!     })
//!     .build();
//! let recording = Recording::open(bytes).unwrap();
//! let map = MethodMap::parse(Path::new("map"), b"7,1,com.example.Main onCreate ()V".to_vec())?;
//! let input = ExportInput { file: Path::new("a.anrscope"), recording: &recording, map: &map };
//! let mut trace = Vec::new();
//! let summary = export(&[input], &ExportOptions::default(), &mut trace)?;
//! assert_eq!(summary.counts.slices, 1);
//! # Ok::<(), exporter::ExportError>(())
//! ```
#![forbid(unsafe_code)]

pub mod diff;
mod error;
mod export;
pub mod facts;
mod file_kind;
mod file_source;
pub mod fleet;
mod fnv;
mod json;
mod json_sort;
mod mapped_text;
pub mod matrix;
pub mod merge;
mod method_map;
pub mod model;
mod names;
pub mod native;
mod native_warnings;
mod output;
mod perfetto;
pub mod plan;
pub mod profile;
mod protobuf;
pub mod report;
pub mod requests;
mod source_sites;
mod tally;
mod text;
mod utc;
mod warning;
mod words;

pub use error::ExportError;
pub use export::{
    DEFAULT_MIN_PERFETTO, ExportInput, ExportOptions, ExportSummary, Format, export, export_perfetto,
};
pub use file_kind::FileKind;
pub use file_source::{FileSource, open_recording, recording_of};
pub use mapped_text::MappedText;
pub use method_map::{Fit, Method, MethodMap};
pub use model::Selection;
pub use output::Output;
pub use report::Report;
pub use text::is_display_control;
pub use warning::Warning;
