//! The output of a demo: two traces and the report.

use std::io::Write as _;
use std::path::Path;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, Report};

use super::files::Files;
use crate::output::Output;

/// Writes the traces and prints the report, unless `quiet`.
pub(super) fn write(files: &Files, quiet: bool) -> anyhow::Result<()> {
    let recording = exporter::open_recording(&files.recording)?;
    let map = MethodMap::load(&files.method_map)?;
    let input = ExportInput { file: &files.recording, recording: &recording, map: &map };
    let write = |path: &Path| -> anyhow::Result<_> {
        let options = ExportOptions { format: Format::of_path(path), ..ExportOptions::default() };
        let output = Output::create(path)?;
        let summary = exporter::export(&[input], &options, output.file())?;
        output.commit()?;
        Ok(summary)
    };
    write(&files.json)?;
    let summary = write(&files.perfetto)?;
    if quiet {
        return Ok(());
    }
    let mut stdout = crate::terminal::stdout();
    write!(stdout, "{}", Report::build(&files.recording, &recording, &map)?)?;
    writeln!(
        stdout,
        "\n{} slices on {} tracks are in {} ({} bytes; {} holds the same as Chrome JSON).",
        summary.counts.slices,
        summary.counts.tracks,
        files.perfetto.display(),
        summary.bytes,
        files.json.display()
    )?;
    // As it was called: the program need not be on the search path.
    let program = std::env::args().next().unwrap_or_else(|| "anrscope".to_owned());
    writeln!(
        stdout,
        "Next: open {} in https://ui.perfetto.dev, or print this again with\n    {program} report {}",
        files.perfetto.display(),
        files.recording.display()
    )?;
    stdout.flush()?;
    Ok(())
}
