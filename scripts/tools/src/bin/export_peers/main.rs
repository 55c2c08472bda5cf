//! Compares the exporter's writers with alternatives, on the same events in one run: `export_peers [MILLIONS
//! [ROUNDS]]`.
//!
//! The writers take turns; a figure is the median of its rounds, in CPU time, a ratio that of the rounds'
//! ratios with their range. The exporter starts with the recording's bytes: it reads, pairs and names before it
//! writes. The alternatives get the events ready to write: *prost*, a packet at a time with Perfetto's recipe
//! (interned names, the sequence's own clock in differences, a default track); *serde_json*, an event at a time
//! in Chrome's form; *zlib* alone, level 6, on the bytes of the uncompressed trace. All compression is zlib-rs.

use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, export};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use tools::made;
use trace_format::{Event, Item, Recording};

mod chrome;
mod packets;

/// The start of a call, with its method, or its end.
pub(crate) type Call = (u64, Option<u32>);

/// Counts what is written.
#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer and its measurements.
struct Way<'a> {
    name: &'static str,
    run: Box<dyn Fn() -> u64 + 'a>,
    seconds: Vec<f64>,
    bytes: u64,
}

impl<'a> Way<'a> {
    fn new(name: &'static str, run: impl Fn() -> u64 + 'a) -> Self {
        Self { name, run: Box::new(run), seconds: Vec::new(), bytes: 0 }
    }
}

fn zlib(bytes: &[u8]) -> u64 {
    let mut encoder = ZlibEncoder::new(Counted::default(), Compression::new(6));
    encoder.write_all(bytes).expect("nothing can fail here");
    encoder.finish().expect("nothing can fail here").0
}

/// CPU time of this thread in seconds, which a busy machine hardly affects; without Linux, elapsed time.
fn now() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let had = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let had = had.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    had.map_or_else(|| START.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

/// Median, minimum and maximum.
fn middle(mut numbers: Vec<f64>) -> (f64, f64, f64) {
    numbers.sort_by(f64::total_cmp);
    (numbers[numbers.len() / 2], numbers[0], numbers[numbers.len() - 1])
}

/// The ratio of the durations of `a` and `b`, per round.
fn ratio(ways: &[Way<'_>], a: usize, b: usize, target: &str) {
    let ratios = ways[a].seconds.iter().zip(&ways[b].seconds).map(|(a, b)| a / b);
    let (median, least, most) = middle(ratios.collect());
    println!(
        "{} / {}: {median:.2} of its time ({least:.2} to {most:.2}){target}",
        ways[a].name, ways[b].name
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|n| n.parse().expect("a number"));
    let (millions, rounds) = (arguments.next().unwrap_or(4), arguments.next().unwrap_or(7));
    let bytes = made::recording(millions * 1_000_000);
    let map: MethodMap = made::map();
    let recording = Recording::open(&bytes[..]).expect("a recording");
    let input = ExportInput { file: Path::new("made"), recording: &recording, map: &map };
    let ours = |format, level| {
        let options = ExportOptions::new(format, level);
        move || {
            let mut out = Counted::default();
            export(&[input], &options, &mut out).expect("nothing can fail here");
            out.0
        }
    };
    let mut calls: Vec<Call> = Vec::new();
    for item in recording.events(&recording.threads()[0]) {
        match item.expect("memory can be read") {
            Item::Event { time, event: Event::Enter(id) } => calls.push((time, Some(id))),
            Item::Event { time, event: Event::Exit(_) } => calls.push((time, None)),
            other => panic!("{other:?} is no call"),
        }
    }
    let names: Vec<String> = (0..=calls.iter().filter_map(|(_, id)| *id).max().unwrap_or(0))
        .map(|id| map.get(id).map_or_else(String::new, |m| format!("{}.{}", m.class, m.method)))
        .collect();
    let mut plain = Vec::new();
    export(&[input], &ExportOptions::new(Format::Perfetto, 0), &mut plain).expect("nothing can fail here");
    let mut recipe = Vec::new();
    packets::write(&calls, &names, &mut recipe).expect("nothing can fail here");

    let mut ways: [Way<'_>; 6] = [
        Way::new("ours, level 0", ours(Format::Perfetto, 0)),
        Way::new("prost", || packets::counted(&calls, &names)),
        Way::new("ours, level 6", ours(Format::Perfetto, 6)),
        Way::new("zlib alone", || zlib(&plain)),
        Way::new("ours, JSON", ours(Format::ChromeJson, 0)),
        Way::new("serde_json", || chrome::counted(&calls, &names)),
    ];
    for _ in 0..rounds {
        for way in &mut ways {
            let start = now();
            way.bytes = (way.run)();
            way.seconds.push(now() - start);
        }
    }

    let events = calls.len() as f64;
    let spans = events / 2.0;
    println!(
        "{} events ({} spans), {rounds} rounds in turn, CPU time, from memory to memory, one core:",
        calls.len(),
        calls.len() / 2
    );
    for way in &ways {
        let (median, ..) = middle(way.seconds.clone());
        println!(
            "  {:<14} {:6.1} M events/s, {:6.2} B/span",
            way.name,
            events / median / 1e6,
            way.bytes as f64 / spans
        );
    }
    ratio(&ways, 0, 1, "");
    ratio(&ways, 4, 5, "");
    ratio(&ways, 2, 3, "; target: at most 1.2");
    let (median, ..) = middle(ways[0].seconds.clone());
    println!("uncompressed: {:.1} M events/s; target: at least 20", events / median / 1e6);
    println!(
        "size, uncompressed: {:.2} B/span; target: at most 25 (the recipe by prost: {:.2})",
        ways[0].bytes as f64 / spans,
        recipe.len() as f64 / spans
    );
    let alone = zlib(&recipe);
    println!(
        "size, level 6: {:.2} B/span; the recipe through zlib 6 alone: {:.2}; {:.3} of it, target: at most 1.05",
        ways[2].bytes as f64 / spans,
        alone as f64 / spans,
        ways[2].bytes as f64 / alone as f64
    );
}
