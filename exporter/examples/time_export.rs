//! How fast an export is, and how many bytes a span takes: `time_export [MILLIONS OF EVENTS [FORM]]`, or
//! `time_export MILLIONS --write FILE` to keep the recording, and its map beside it, for other programs.
//!
//! Prints one line for each form (`level 0`, `level 1`, `level 6`, `JSON`): the best of three runs, or
//! of the form asked for, the best of ten.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, export};
use trace_format::Recording;
use trace_format::synth::RecordingBuilder;

/// Names of 832 methods, as long as real ones are.
const METHODS: u64 = 832;

struct Discard;

impl Write for Discard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A small generator: the same recording each time, without a dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn recording(events: u64) -> Vec<u8> {
    let mut random = Random(7);
    RecordingBuilder::new(4242, "com.example.app")
        .main("main", |t| {
            let mut now = 1_000_000_000;
            let mut open = Vec::new();
            for left in (0..events).rev() {
                // Mostly short calls; some outer ones of some hundred microseconds.
                let most = if random.below(16) == 0 { 40_000 } else { 1_500 };
                now += 40 + random.below(most);
                let must_close = open.len() as u64 > left;
                if !open.is_empty() && (must_close || open.len() > 30 || random.below(2) == 0) {
                    t.exit(now, open.pop().expect("not empty"));
                } else {
                    let id = 1 + random.below(METHODS) as u32;
                    t.enter(now, id);
                    open.push(id);
                }
            }
        })
        .build()
}

fn main() {
    let millions: u64 = std::env::args().nth(1).map_or(4, |n| n.parse().expect("a number of millions"));
    let asked = std::env::args().nth(2);
    let bytes = recording(millions * 1_000_000);
    let lines: String = (1..=METHODS)
        .map(|id| format!("{id},1,com.example.app.feature{}.Klass{}.method{id} ()V\n", id % 7, id % 60))
        .collect();
    // The name's last dot is where the map wants a space.
    let lines = lines.replace(".method", " method");
    if asked.as_deref() == Some("--write") {
        let file = std::env::args().nth(3).expect("a file");
        std::fs::write(Path::new(&file).with_file_name("methodMapping.txt"), lines).expect("the map");
        return std::fs::write(&file, bytes).expect("the recording");
    }
    let recording = Recording::open(bytes).expect("a recording");
    let map = MethodMap::parse(Path::new("map"), lines.into_bytes()).expect("a map");
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
