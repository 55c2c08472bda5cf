//! Compares what the real Perfetto engine reads from the traces with the model, row by row.

mod incidents;
mod overwritten;
mod recorder;
mod shapes;
mod tasks;
mod traces;
mod whole;

use std::path::Path;
use test_support::engine;

use exporter::{
    ExportError, ExportInput, ExportOptions, ExportSummary, Format, MethodMap, Selection, export,
};
use test_support::recordings::app::app;
use test_support::recordings::collect::{ChartSlice, collect, collect_part};
use test_support::recordings::{
    FORMS, MS, S, TempFile, export_to_file, export_with, map, rows, sigquit, stalled, verdict,
};
use trace_format::event::{Frame, Message, Stage};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::verdict::{Outcome, Verdict};
use trace_format::{Event, Recording};

/// All slices of a trace, which must be without a problem.
fn rows_of(trace: &Path) -> Vec<ChartSlice> {
    rows::parse(&engine::rows(trace, &rows::query()))
}

/// Exports in one form, lets the engine check it, and compares all slices.
fn same_as_model(bytes: &[u8], options: &ExportOptions) -> TempFile {
    same_with_map(bytes, &map(), options, rows::Depths::Kept)
}

fn same_with_map(bytes: &[u8], map: &MethodMap, options: &ExportOptions, depths: rows::Depths) -> TempFile {
    let (file, summary) = export_with(bytes, map, options);
    let (model, tally) = collect_part(bytes, map, &options.selection);
    assert_eq!(summary.counts, tally);
    rows::same(model, rows_of(&file.0), depths, &format!("{options:?}"));
    file
}
