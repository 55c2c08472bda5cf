//! What is left of the demo's app: two traces, and the answer in words.

use std::fs::File;
use std::path::Path;

use anyhow::Context as _;
use exporter::{ExportInput, ExportOptions, Format, MethodMap, Report};

use super::Files;

/// Writes the traces and prints what they show.
pub(super) fn write(files: &Files) -> anyhow::Result<()> {
    let recording = exporter::open_recording(&files.recording)?;
    let map = MethodMap::load(&files.method_map)?;
    let input = ExportInput { file: &files.recording, recording: &recording, map: &map };
    let write = |path: &Path| -> anyhow::Result<_> {
        let options = ExportOptions { format: Format::of_path(path), ..ExportOptions::default() };
        let out = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(exporter::export(&[input], &options, out)?)
    };
    write(&files.json)?;
    let summary = write(&files.perfetto)?;
    print!("{}", Report::build(&files.recording, &recording, &map)?);
    println!(
        "\n{} slices on {} tracks are in {} ({} bytes; {} holds the same as Chrome JSON).",
        summary.counts.slices,
        summary.counts.tracks,
        files.perfetto.display(),
        summary.bytes,
        files.json.display()
    );
    println!("Next: open {} in https://ui.perfetto.dev, or print this again with", files.perfetto.display());
    println!("    anrscope report {}", files.recording.display());
    Ok(())
}
