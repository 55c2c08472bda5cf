//! The output of a demo: two traces and the report.

use std::io::Write as _;

use exporter::Report;

use super::files::Files;
use crate::export;
use crate::recordings::{MethodMaps, Recordings};

/// Writes the traces and prints the report, unless `quiet`.
pub(super) fn write(files: &Files, quiet: bool) -> anyhow::Result<()> {
    let mut maps = MethodMaps::new(Some(&files.method_map), None)?;
    let recordings = Recordings::open(std::slice::from_ref(&files.recording), &mut maps)?;
    export::write(&recordings, &files.json)?;
    let summary = export::write(&recordings, &files.perfetto)?;
    if quiet {
        return Ok(());
    }
    let mut stdout = crate::terminal::stdout();
    for input in recordings.inputs() {
        write!(stdout, "{}", Report::build(input.file, input.recording, input.map)?)?;
    }
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
