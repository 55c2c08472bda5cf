//! One call from recordings to a trace.

use std::io::Write;
use std::path::Path;

use trace_format::{Recording, Source};

use crate::json::JsonWriter;
use crate::method_map::{Fit, MethodMap};
use crate::model::{Input, Level, LogLine, Names, Sink, Tally, clean, stream};
use crate::perfetto::PerfettoWriter;
use crate::{ExportError, Warning};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// Deflate level of a Perfetto trace, 0 (none) to 9.
    pub level: u32,
    /// Whether an ANR is also told in the form that Perfetto's `android.anrs` reads, which takes a
    /// made-up process named `system_server`.
    pub stdlib_anr: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { format: Format::Perfetto, level: 6, stdlib_anr: true }
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

/// The names to use for a recording, and a warning if they are not those of `map`.
pub(crate) fn names_of<'a, S: Source>(
    file: &Path,
    recording: &Recording<S>,
    map: &'a MethodMap,
) -> (Names<'a>, Option<Warning>) {
    let file = file.to_owned();
    let recorded = recording.header().map_id;
    match map.fit(recorded) {
        Fit::Same => (Names::new(Some(map)), None),
        Fit::Unknown if map.is_empty() => (Names::new(None), Some(Warning::NoMap { file })),
        Fit::Unknown => (Names::new(Some(map)), Some(Warning::UnverifiedMap { file, map: map.map_id() })),
        Fit::OtherBuild => {
            (Names::new(None), Some(Warning::MapOfOtherBuild { file, recorded, map: map.map_id() }))
        }
    }
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
    let streams: Vec<Input<'_, S>> = inputs
        .iter()
        .map(|input| {
            let (names, warning) = names_of(input.file, input.recording, input.map);
            warnings.extend(warning);
            warnings.extend(Warning::of_recording(input.file, input.recording));
            Input { file: input.file, recording: input.recording, names }
        })
        .collect();
    let (counts, bytes) = match options.format {
        Format::Perfetto => {
            let mut writer = PerfettoWriter::new(out, options.level, options.stdlib_anr);
            let counts = run(&streams, &mut writer, &mut warnings)?;
            (counts, writer.bytes())
        }
        Format::ChromeJson => {
            let mut writer = JsonWriter::new(out, options.stdlib_anr);
            let counts = run(&streams, &mut writer, &mut warnings)?;
            (counts, writer.bytes())
        }
    };
    Ok(ExportSummary { counts, bytes, warnings })
}

fn run<S: Source, K: Sink>(
    inputs: &[Input<'_, S>],
    sink: &mut K,
    warnings: &mut Vec<Warning>,
) -> Result<Tally, ExportError> {
    let counts = stream(inputs, sink)?;
    warnings.extend(Warning::of_counts(&counts));
    // In the trace too: it is passed on without what was printed when it was made.
    let start = inputs.iter().map(|i| i.recording.header().start.boottime).min().unwrap_or(0);
    for warning in warnings.iter() {
        let message = format!("export: {warning}");
        sink.log(&LogLine { at: start, level: Level::Warn, message: &clean(&message) })?;
    }
    let facts = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("slices", counts.slices.to_string()),
        ("incomplete", counts.incomplete.to_string()),
        ("orphan_exits", counts.orphan_exits.to_string()),
        ("unbalanced", counts.unbalanced.to_string()),
        ("cut_depth", counts.cut_depth.to_string()),
        ("clamped", counts.clamped.to_string()),
        ("overwritten", counts.overwritten.to_string()),
        ("dropped", counts.dropped.to_string()),
        ("paused_ns", counts.paused.to_string()),
        ("methods_off", counts.methods_off.to_string()),
    ];
    let mut facts: Vec<_> = facts.into_iter().map(|(k, v)| (format!("anrscope.{k}"), v)).collect();
    let told = warnings.iter().enumerate();
    facts.extend(told.map(|(i, w)| (format!("anrscope.warning.{i}"), w.to_string())));
    sink.finish(&facts)?;
    Ok(counts)
}
