//! One call from recordings to a trace.

use std::io::Write;
use std::path::Path;

use trace_format::{Recording, Source};

use crate::fnv::fnv1a;
use crate::json::JsonWriter;
use crate::json_sort::SortedLines;
use crate::method_map::MethodMap;
use crate::model::{
    Ask, Filter, Input, Level, LogLine, Selection, Sink, Streamed, Tally, first_moment, is_called, streamed,
};
use crate::names::names_of;
use crate::perfetto::PerfettoWriter;
use crate::text::clean;
use crate::{ExportError, Report, Warning};

/// More slices make the viewer slow.
const MANY_SLICES: u64 = 3_000_000;
/// Of an ANR the 10 s before it are worth seeing, ns.
const BEFORE_ANR: u64 = 10_000_000_000;
/// And what follows its detection.
const AROUND: u64 = 1_000_000_000;
/// Threads that are named where another one was asked for.
const THREADS_NAMED: usize = 10;
/// Without an ANR, the end, ns.
const LAST: u64 = 10_000_000_000;

/// The oldest Perfetto, by its major version, that takes a trace without a complaint if nothing else is asked for.
pub const DEFAULT_MIN_PERFETTO: u32 = 53;

/// What to write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Format {
    /// Perfetto's protobuf: small, exact, and with all there is.
    #[default]
    Perfetto,
    /// Chrome's JSON: read by more programs, larger, and without the log.
    ChromeJson,
}

impl Format {
    /// The format that a file of this name has: JSON if it says so, else Perfetto.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        if json { Self::ChromeJson } else { Self::Perfetto }
    }
}

/// How to write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// Deflate level of a Perfetto trace, 0 (none) to 9.
    pub level: u32,
    /// Whether an ANR is also told in the form that Perfetto's `android.anrs` reads, which takes a
    /// made-up process named `system_server`.
    pub stdlib_anr: bool,
    /// Whether the numbers of tracks and sequences are made out of what was recorded and do not begin at 1, so that a Perfetto
    /// trace can be joined with others. It is larger.
    pub merge_safe: bool,
    /// Whether a JSON trace has its events by time; what does not fit into memory waits on disk meanwhile. Without it, spans
    /// come when they end, one thread after the other.
    pub sorted: bool,
    /// The oldest Perfetto, by its major version, that must take a trace without a complaint. From 53 on the states of a
    /// thread dump have their stacks beside them; older ones count an error for each.
    pub min_perfetto: u32,
    /// Processes of which a trace that this one is joined with tells parent and user: told twice, they could become two.
    pub known_processes: Vec<u32>,
    /// The part to write.
    pub selection: Selection,
}

impl ExportOptions {
    /// All of a recording in this format, as small as this level makes it.
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
            selection,
        }
    }
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self::new(Format::Perfetto, 6)
    }
}

/// One recording to export.
#[derive(Debug)]
pub struct ExportInput<'a, S> {
    /// Where it came from, for messages.
    pub file: &'a Path,
    /// The recording.
    pub recording: &'a Recording<S>,
    /// The map of its build; a map of another build is not used, which a warning tells.
    pub map: &'a MethodMap,
}

// Not derived: that would ask the same of `S`.
impl<S> Clone for ExportInput<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for ExportInput<'_, S> {}

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportSummary {
    /// What was read and what became of it.
    pub counts: Tally,
    /// Length of the trace.
    pub bytes: u64,
    /// What the reader of the trace should know.
    pub warnings: Vec<Warning>,
}

/// Writes `inputs` as one trace to `out`, which need not be buffered.
///
/// # Errors
/// If a recording cannot be read any further, or `out` cannot be written.
pub fn export<S: Source, W: Write>(
    inputs: &[ExportInput<'_, S>],
    options: &ExportOptions,
    out: W,
) -> Result<ExportSummary, ExportError> {
    let mut warnings = Vec::new();
    let answers: Vec<_> = inputs
        .iter()
        .map(|input| || Report::build(input.file, input.recording, input.map).map(|report| report.answer))
        .collect();
    let streams: Vec<Input<'_, S>> = inputs
        .iter()
        .zip(&answers)
        .map(|(input, answer)| {
            let (names, warning) = names_of(input.file, input.recording, input.map);
            warnings.extend(warning);
            warnings.extend(Warning::of_recording(input.file, input.recording));
            Input { file: input.file, recording: input.recording, names, answer: Ask::of(answer) }
        })
        .collect();
    let (counts, bytes) = match options.format {
        Format::Perfetto => {
            let base = if options.merge_safe { base(inputs) } else { 0 };
            let mut writer =
                PerfettoWriter::new(out, options.level, options.stdlib_anr, base, options.min_perfetto);
            writer.leave_out_trees(&options.known_processes);
            let counts = selected(&streams, &options.selection, &mut writer, &mut warnings)?;
            (counts, writer.bytes())
        }
        Format::ChromeJson if options.sorted => {
            let mut writer = JsonWriter::new(SortedLines::new(out), options.stdlib_anr);
            let counts = selected(&streams, &options.selection, &mut writer, &mut warnings)?;
            (counts, writer.bytes())
        }
        Format::ChromeJson => {
            let mut writer = JsonWriter::new(out, options.stdlib_anr);
            let counts = selected(&streams, &options.selection, &mut writer, &mut warnings)?;
            (counts, writer.bytes())
        }
    };
    Ok(ExportSummary { counts, bytes, warnings })
}

/// A number that other recordings do not have: an FNV hash of what tells them apart, cut so that what is counted from it stays
/// positive.
fn base<S: Source>(inputs: &[ExportInput<'_, S>]) -> u64 {
    let facts = inputs.iter().map(|input| input.recording.header());
    let words = facts.flat_map(|h| [u64::from(h.pid), h.start.boottime, h.start.realtime]);
    fnv1a(words.flat_map(u64::to_le_bytes)) >> 2 | 1 << 61
}

/// The stretch around the first ANR, or else the end, in ns since the first moment.
fn worth_seeing<S: Source>(inputs: &[Input<'_, S>], read: &Streamed) -> (u64, u64) {
    let start = first_moment(inputs);
    match read.anr {
        Some((since, detected)) => {
            let from = since.max(start).saturating_sub(BEFORE_ANR).max(start);
            (from - start, detected.saturating_add(AROUND).max(from) - start)
        }
        None => ((read.last - start).saturating_sub(LAST), read.last - start),
    }
}

fn selected<S: Source, K: Sink>(
    inputs: &[Input<'_, S>],
    selection: &Selection,
    sink: &mut K,
    warnings: &mut Vec<Warning>,
) -> Result<Tally, ExportError> {
    if selection.is_all() {
        let read = streamed(inputs, sink)?;
        return finish(inputs, read, sink, warnings);
    }
    check_threads(inputs, &selection.threads)?;
    let mut filter = Filter::new(sink, selection.clone());
    let mut read = streamed(inputs, &mut filter)?;
    read.counts.leave_out(filter.left_out());
    if read.counts.slices == 0 && (selection.from.is_some() || selection.to.is_some()) {
        return Err(empty_part(inputs, &read, selection));
    }
    finish(inputs, read, sink, warnings)
}

/// That each of `wanted` is a thread of one of the recordings.
fn check_threads<S: Source>(inputs: &[Input<'_, S>], wanted: &[String]) -> Result<(), ExportError> {
    let threads = || inputs.iter().flat_map(|input| input.recording.threads());
    let Some(missing) =
        wanted.iter().find(|wanted| !threads().any(|t| is_called(wanted, t.main, t.name.as_deref(), t.tid)))
    else {
        return Ok(());
    };
    let mut known: Vec<String> = threads()
        .take(THREADS_NAMED + 1)
        .map(|thread| match &thread.name {
            Some(name) => format!("{} (tid {})", clean(name), thread.tid),
            None => format!("tid {}", thread.tid),
        })
        .collect();
    if known.len() > THREADS_NAMED {
        known[THREADS_NAMED] = format!("{} more", threads().count() - THREADS_NAMED);
    }
    Err(ExportError::NoSuchThread { wanted: missing.clone(), known })
}

fn empty_part<S: Source>(inputs: &[Input<'_, S>], read: &Streamed, selection: &Selection) -> ExportError {
    let length = read.last.saturating_sub(first_moment(inputs));
    let from = selection.from.unwrap_or(0);
    ExportError::EmptyPart { from, to: selection.to.unwrap_or(length.max(from)), length }
}

fn finish<S: Source, K: Sink>(
    inputs: &[Input<'_, S>],
    mut read: Streamed,
    sink: &mut K,
    warnings: &mut Vec<Warning>,
) -> Result<Tally, ExportError> {
    let counts = read.counts;
    warnings.append(&mut read.warnings);
    warnings.extend(Warning::of_counts(&counts));
    if counts.slices > MANY_SLICES {
        let (from, to) = worth_seeing(inputs, &read);
        warnings.push(Warning::ManySlices { slices: counts.slices, from, to });
    }
    // In the trace too: it is passed on without what was printed when it was made.
    let start = inputs.iter().map(|i| i.recording.header().start.boottime).min().unwrap_or(0);
    for warning in warnings.iter() {
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
        facts.extend(system.facts().map(|(key, value)| (format!("anrscope.system.{key}"), value)));
    }
    let told = warnings.iter().enumerate();
    facts.extend(told.map(|(i, w)| (format!("anrscope.warning.{i}"), w.to_string())));
    sink.finish(&facts)?;
    Ok(counts)
}
