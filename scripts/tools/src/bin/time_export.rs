//! Measures the speed of an export, and the bytes per slice: `time_export [MILLIONS OF EVENTS [FORM]]`, or
//! `time_export MILLIONS --write FILE` to keep the recording, and its map beside it, for other programs.
//!
//! Prints one line for each form (`level 0`, `level 1`, `level 6`, `JSON`): the best of three runs, or
//! of the requested form, the best of ten.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use exporter::{ExportInput, ExportOptions, Format, export};
use tools::made;
use trace_format::Recording;

struct Discard;

impl Write for Discard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn main() {
    let millions: u64 = std::env::args().nth(1).map_or(4, |n| n.parse().expect("a number of millions"));
    let asked = std::env::args().nth(2);
    let bytes = made::recording(millions * 1_000_000);
    if asked.as_deref() == Some("--write") {
        let file = std::env::args().nth(3).expect("a file");
        std::fs::write(Path::new(&file).with_file_name("methodMapping.txt"), made::lines()).expect("the map");
        return std::fs::write(&file, bytes).expect("the recording");
    }
    let recording = Recording::open(bytes).expect("a recording");
    let map = made::map();
    let input = ExportInput { file: Path::new("made"), recording: &recording, map: &map };
    let perfetto = |level| ExportOptions { level, ..ExportOptions::default() };
    let json = ExportOptions { format: Format::ChromeJson, ..ExportOptions::default() };
    for (name, options) in
        [("level 0", perfetto(0)), ("level 1", perfetto(1)), ("level 6", perfetto(6)), ("JSON", json)]
    {
        if asked.as_ref().is_some_and(|asked| asked != name) {
            continue;
        }
        let runs = (0..if asked.is_some() { 10 } else { 3 }).map(|_| {
            let start = Instant::now();
            let summary = export(&[input], &options, Discard).expect("nothing can fail here");
            (start.elapsed().as_secs_f64(), summary)
        });
        let (seconds, summary) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a run");
        println!(
            "{name}: {:.1} M events/s, {:.2} B/span ({} slices, {} bytes, {seconds:.2} s)",
            summary.counts.events as f64 / seconds / 1e6,
            summary.bytes as f64 / summary.counts.slices as f64,
            summary.counts.slices,
            summary.bytes,
        );
    }
}
