//! A recording's trace against the exporter's model: every slice, its time, length, depth, name and arguments, as the engine
//! has them.

use std::path::Path;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, export};
use trace_format::Recording;

use test_support::engine;
use test_support::recordings::collect::collect;
use test_support::recordings::rows;
use test_support::temp_dir::TempDir;

/// Exports a recording in all forms, lets the engine check each, and compares all rows. How many slices there are.
pub(crate) fn same_in_all_forms(recording: &Path, map: &MethodMap) -> u64 {
    let directory = TempDir::new();
    let bytes = std::fs::read(recording).unwrap();
    let opened = Recording::open(&bytes[..]).unwrap();
    let input = ExportInput { file: recording, recording: &opened, map };
    let mut slices = 0;
    let forms = [
        (Format::Perfetto, 6, "z.pftrace"),
        (Format::Perfetto, 0, "plain.pftrace"),
        (Format::ChromeJson, 0, "t.json"),
    ];
    for (format, level, name) in forms {
        let trace = directory.name(name);
        // The engine of the tests is Perfetto 52.
        let options = ExportOptions { min_perfetto: 52, ..ExportOptions::new(format, level) };
        let summary = export(&[input], &options, std::fs::File::create(&trace).unwrap()).unwrap();
        let (model, tally) = collect(&bytes, map);
        assert_eq!(summary.counts, tally);
        slices = tally.slices;
        // What was recorded with coarse times has slices without length.
        let depths = if format == Format::ChromeJson { rows::Depths::Lost } else { rows::Depths::Kept };
        let found = rows::parse(&engine::rows(trace.as_ref(), &rows::query()));
        rows::same(model, found, depths, &format!("{} as {name}", recording.display()));
    }
    slices
}
