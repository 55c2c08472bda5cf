//! Exports recordings to a trace in one call.

use std::io::Write;
use std::path::{Path, PathBuf};

use answers::text::clean;
use trace_format::{Recording, Source};

use crate::facts::{Facts, Survey};
use crate::fnv::fnv1a;
use crate::json::JsonWriter;
use crate::json_sort::SortedLines;
use crate::method_map::MethodMap;
use crate::model::{
    Diagnosis, Filter, Input, Level, LogLine, Selection, Sink, Streamed, Tally, first_moment, is_called,
    streamed,
};
use crate::names::names_of;
use crate::perfetto::PerfettoWriter;
use crate::{ExportError, Report, Warning};

/// Number of slices above which the viewer becomes slow; fewer in tests, which write that many.
const MANY_SLICES: u64 = if cfg!(test) { 3_000 } else { 3_000_000 };
/// Time worth seeing before an ANR, ns.
const WINDOW_BEFORE_ANR: u64 = 10_000_000_000;
/// Time worth seeing after its detection, ns.
const WINDOW_AFTER_ANR: u64 = 1_000_000_000;
/// Maximum number of threads listed when a selected one does not exist.
const MAX_THREADS_NAMED: usize = 10;
/// Time worth seeing at the end if there is no ANR, ns.
const END_WINDOW: u64 = 10_000_000_000;

/// The oldest Perfetto, by major version, that accepts a trace without errors by default.
pub const DEFAULT_MIN_PERFETTO: u32 = 53;

/// The output format.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Format {
    /// Perfetto's protobuf: compact, exact and complete.
    #[default]
    Perfetto,
    /// Chrome's JSON: readable by more programs, larger, and without the log.
    ChromeJson,
}

/// How to write the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// Deflate level of a Perfetto trace, from 0 (none) to 9.
    pub level: u32,
    /// Whether to also write ANRs in the form that Perfetto's `android.anrs` reads, which needs a synthetic
    /// process named `system_server`.
    pub stdlib_anr: bool,
    /// Whether to derive the numbers of tracks and sequences from the recording instead of counting from 1, so
    /// that the Perfetto trace can be merged with others. It is larger.
    pub merge_safe: bool,
    /// Whether to sort the events of a JSON trace by time, using temporary files for what does not fit into
    /// memory. Otherwise slices are written when they end, thread by thread.
    pub sorted: bool,
    /// The oldest Perfetto, by major version, that must accept the trace without errors. From 53 on, the thread
    /// states of a dump have their stacks beside them; older versions count an error for each.
    pub min_perfetto: u32,
    /// Processes whose parent and user are in the trace that this one is merged with: repeating them could make
    /// two processes of one.
    pub known_processes: Vec<u32>,
    /// Directories of files with symbols, for native stacks: unstripped libraries, `.so.dbg`, Breakpad's `.sym`.
    pub symbols: Vec<PathBuf>,
    /// The part of the trace to write.
    pub selection: Selection,
}

impl ExportOptions {
    /// A complete export in this format, compressed at this level.
    #[must_use]
    pub const fn new(format: Format, level: u32) -> Self {
        let selection = Selection { from: None, to: None, min_duration: 0, threads: Vec::new() };
        Self {
            format,
            level,
            stdlib_anr: true,
            merge_safe: false,
            sorted: false,
            min_perfetto: DEFAULT_MIN_PERFETTO,
            known_processes: Vec::new(),
            symbols: Vec::new(),
            selection,
        }
    }
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self::new(Format::Perfetto, 6)
    }
}

/// A recording to export. Its source is any: what follows is compiled once, in this crate. For each source of a
/// program it would be half of the program's build.
#[derive(Clone, Copy)]
pub struct ExportInput<'a> {
    /// Its file name, for messages.
    pub file: &'a Path,
    /// The recording.
    pub recording: &'a Recording<dyn Source + 'a>,
    /// The map of its build; a map of a different build is rejected with a warning.
    pub map: &'a MethodMap,
}

/// The result of an export.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExportSummary {
    /// Counts of what was read and written.
    pub counts: Tally,
    /// Length of the trace in bytes.
    pub bytes: u64,
    /// Problems that the reader of the trace should know.
    pub warnings: Vec<Warning>,
}

/// Writes `inputs` as one trace to `out`, which need not be buffered.
///
/// # Errors
/// If a recording cannot be read any further, or `out` cannot be written.
pub fn export<W: Write>(
    inputs: &[ExportInput<'_>],
    options: &ExportOptions,
    mut out: W,
) -> Result<ExportSummary, ExportError> {
    match options.format {
        Format::Perfetto => export_perfetto(inputs, options, &mut out),
        Format::ChromeJson => chrome_json(inputs, options, &mut out),
    }
}

/// Writes `inputs` as one Perfetto trace to `out` and ignores the format in `options`: a program that writes no JSON does not
/// contain its writer.
///
/// # Errors
/// As those of [`export`].
pub fn export_perfetto(
    inputs: &[ExportInput<'_>],
    options: &ExportOptions,
    out: &mut dyn Write,
) -> Result<ExportSummary, ExportError> {
    let base = if options.merge_safe { base(inputs) } else { 0 };
    let mut writer = PerfettoWriter::new(out, options.level, options.stdlib_anr, base, options.min_perfetto);
    writer.known_processes.clone_from(&options.known_processes);
    let summary = write(inputs, options, &mut writer)?;
    Ok(ExportSummary { bytes: writer.bytes(), ..summary })
}

fn chrome_json(
    inputs: &[ExportInput<'_>],
    options: &ExportOptions,
    out: &mut dyn Write,
) -> Result<ExportSummary, ExportError> {
    let mut sorted;
    let out: &mut dyn Write = if options.sorted {
        sorted = SortedLines::new(out);
        &mut sorted
    } else {
        out
    };
    let mut writer = JsonWriter::new(out, options.stdlib_anr);
    let summary = write(inputs, options, &mut writer)?;
    Ok(ExportSummary { bytes: writer.bytes(), ..summary })
}

/// Writes the inputs to a sink, which alone knows how many bytes they became.
fn write<K: Sink>(
    inputs: &[ExportInput<'_>],
    options: &ExportOptions,
    writer: &mut K,
) -> Result<ExportSummary, ExportError> {
    let mut warnings = Vec::new();
    let answers: Vec<_> = inputs
        .iter()
        .map(|input| {
            |facts: &Facts<'_>, survey: &Survey| {
                let report = Report::of_facts(input.file, facts, survey, input.map, &options.symbols);
                report.map(Diagnosis::from)
            }
        })
        .collect();
    let streams: Vec<Input<'_>> = inputs
        .iter()
        .zip(&answers)
        .map(|(input, answer)| {
            let (names, found) = names_of(input.file, input.recording, input.map);
            warnings.extend(found);
            Input { file: input.file, recording: input.recording, names, answer, symbols: &options.symbols }
        })
        .collect();
    let read = selected(&streams, &options.selection, writer)?;
    finish(&streams, read, writer, warnings)
}

/// A number that distinguishes the recordings: an FNV hash of their identities, truncated so that numbers
/// counted from it stay positive.
fn base(inputs: &[ExportInput<'_>]) -> u64 {
    let facts = inputs.iter().map(|input| input.recording.header());
    let words = facts.flat_map(|h| [u64::from(h.pid), h.start.boottime, h.start.realtime]);
    fnv1a(words.flat_map(u64::to_le_bytes)) >> 2 | 1 << 61
}

/// The time range around the first ANR, else at the end, in ns since the first moment.
fn worth_seeing(inputs: &[Input<'_>], read: &Streamed) -> (u64, u64) {
    let start = first_moment(inputs);
    match read.anr {
        Some((since, detected)) => {
            let from = since.max(start).saturating_sub(WINDOW_BEFORE_ANR).max(start);
            (from - start, detected.saturating_add(WINDOW_AFTER_ANR).max(from) - start)
        }
        None => ((read.last - start).saturating_sub(END_WINDOW), read.last - start),
    }
}

/// Writes what is selected to the sink.
fn selected<K: Sink>(
    inputs: &[Input<'_>],
    selection: &Selection,
    sink: &mut K,
) -> Result<Streamed, ExportError> {
    if selection.is_all() {
        return streamed(inputs, sink);
    }
    check_threads(inputs, &selection.threads)?;
    let mut filter = Filter::new(sink, selection.clone());
    let mut read = streamed(inputs, &mut filter)?;
    read.counts.leave_out(filter.left_out());
    if read.counts.slices == 0 && (selection.from.is_some() || selection.to.is_some()) {
        let length = read.last.saturating_sub(first_moment(inputs));
        let from = selection.from.unwrap_or(0);
        return Err(ExportError::EmptyPart { from, to: selection.to.unwrap_or(length.max(from)), length });
    }
    Ok(read)
}

/// Checks that each of `wanted` is a thread of one of the recordings.
fn check_threads(inputs: &[Input<'_>], wanted: &[String]) -> Result<(), ExportError> {
    let threads = || inputs.iter().flat_map(|input| input.recording.threads());
    let Some(missing) =
        wanted.iter().find(|wanted| !threads().any(|t| is_called(wanted, t.main, t.name.as_deref(), t.tid)))
    else {
        return Ok(());
    };
    let mut known: Vec<String> = threads()
        .take(MAX_THREADS_NAMED + 1)
        .map(|thread| match &thread.name {
            Some(name) => format!("{} (tid {})", clean(name), thread.tid),
            None => format!("tid {}", thread.tid),
        })
        .collect();
    if known.len() > MAX_THREADS_NAMED {
        known[MAX_THREADS_NAMED] = format!("{} more", threads().count() - MAX_THREADS_NAMED);
    }
    Err(ExportError::NoSuchThread { wanted: missing.clone(), known })
}

/// Writes the warnings and the trace's facts.
fn finish<K: Sink>(
    inputs: &[Input<'_>],
    read: Streamed,
    sink: &mut K,
    mut warnings: Vec<Warning>,
) -> Result<ExportSummary, ExportError> {
    let counts = read.counts;
    warnings.extend_from_slice(&read.warnings);
    warnings.extend(Warning::of_counts(&counts));
    if counts.slices > MANY_SLICES {
        let (from, to) = worth_seeing(inputs, &read);
        warnings.push(Warning::ManySlices { slices: counts.slices, from, to });
    }
    // Also log warnings in the trace: it is shared without what was printed when it was written.
    let start = inputs.iter().map(|i| i.recording.header().start.boottime).min().unwrap_or(0);
    for warning in &warnings {
        let message = format!("export: {warning}");
        sink.log(&LogLine::ours(start, Level::Warn, &clean(&message)))?;
    }
    let facts = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("slices", counts.slices.to_string()),
        ("incomplete", counts.incomplete.to_string()),
        ("began_before", counts.began_before.to_string()),
        ("orphan_exits", counts.orphan_exits.to_string()),
        ("unbalanced", counts.unbalanced.to_string()),
        ("cut_depth", counts.cut_depth.to_string()),
        ("clamped", counts.clamped.to_string()),
        ("overwritten", counts.overwritten.to_string()),
        ("dropped", counts.dropped.to_string()),
        ("filtered", counts.filtered.to_string()),
        ("paused_ns", counts.paused.to_string()),
        ("methods_off", counts.methods_off.to_string()),
    ];
    let mut facts: Vec<_> = facts.into_iter().map(|(k, v)| (format!("anrscope.{k}"), v)).collect();
    if let Some(system) = &read.system {
        facts.extend(
            crate::facts::system::known(system).map(|(key, value)| (format!("anrscope.system.{key}"), value)),
        );
    }
    let numbered = warnings.iter().enumerate();
    facts.extend(numbered.map(|(i, w)| (format!("anrscope.warning.{i}"), w.to_string())));
    sink.finish(&facts)?;
    Ok(ExportSummary { counts, bytes: 0, warnings })
}

#[cfg(test)]
mod tests {
    use trace_format::Event;
    use trace_format::event::{Clocks, Forward, Sigquit};
    use trace_format::synth::RecordingBuilder;

    use super::*;

    const S: u64 = 1_000_000_000;
    const START: Clocks = Clocks { boottime: S, monotonic: S, realtime: 1_700_000_000 * S };

    fn map() -> MethodMap {
        MethodMap::parse(Path::new("map"), "1,1,a.B c ()V\n".into()).unwrap()
    }

    fn many() -> RecordingBuilder {
        RecordingBuilder::new(7, "many").start(START).map_id(map().map_id()).main("main", |t| {
            for i in 0..=MANY_SLICES {
                t.enter(S + i * 1_000, 1).exit(S + i * 1_000 + 1, 1);
            }
        })
    }

    fn warnings_of(bytes: &[u8], selection: Selection) -> Vec<Warning> {
        let recording = Recording::open(bytes).unwrap();
        let map = map();
        let input = ExportInput { file: Path::new("a"), recording: &recording, map: &map };
        export(&[input], &ExportOptions { selection, ..ExportOptions::default() }, std::io::sink())
            .unwrap()
            .warnings
    }

    #[test]
    fn too_many_slices_for_a_browser_give_a_warning_with_a_time_range() {
        let calm = many().last_alive(31 * S).build();
        let warnings = warnings_of(&calm, Selection::default());
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        // The trace begins at the first slice; the end is worth seeing.
        assert_eq!(*warning, Warning::ManySlices { slices: MANY_SLICES + 1, from: 20 * S, to: 30 * S });
        let text = warning.to_string();
        assert!(text.contains("--from 20.000s --to 30.000s"), "{text}");
        let half = Selection { to: Some(MANY_SLICES * 500), ..Selection::default() };
        assert_eq!(warnings_of(&calm, half), []);
        let (sensed, stuck_since, forward) = (9 * S, 4 * S, Forward::Catcher);
        let signal = Sigquit { sensed, si_code: 0, si_pid: 9, si_uid: 1000, forward, stuck_since };
        let anr = many().service(|t| {
            t.event(sensed, Event::Sigquit(signal));
        });
        let warnings = warnings_of(&anr.build(), Selection::default());
        assert!(
            matches!(warnings[..], [Warning::ManySlices { from: 0, to, .. }] if to == 9 * S),
            "{warnings:?}"
        );
    }
}
