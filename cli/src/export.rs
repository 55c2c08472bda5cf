//! `anrscope export`: converts recordings into a trace for a viewer.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::builder::{OsStringValueParser, TypedValueParser};
use exporter::{ExportError, ExportOptions, ExportSummary, Format, Selection, export};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::cleanup;
use crate::fault::UsageError;
use crate::output::{self, Output};
use crate::progress::{Progress, left_after};
use crate::recordings::{MethodMaps, Recordings};
use crate::symbols;
use crate::terminal::{self, counted};

/// Export recordings as a trace for ui.perfetto.dev and chrome://tracing
///
/// Several recordings, of one app or of several, are put on one timeline. Method names come from the build's method map; a map of a
/// different build is rejected with a warning.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # For https://ui.perfetto.dev. A methodMapping.txt beside the recording is used.
    anrscope export app.anrscope -o app.pftrace

    # With the map of the build that ran; prints a summary as JSON to stdout.
    anrscope export app.anrscope -o app.pftrace --method-map build/methodMapping.txt --json

    # Chrome's JSON, compressed.
    anrscope export app.anrscope -o app.json.gz

    # Part of a large recording: two seconds of main, only slices of a millisecond or more.
    anrscope export app.anrscope -o part.pftrace --from 3.5s --to 5.5s --threads main --min-duration 1ms

    # The processes of an app, or its restarts, on one timeline.
    anrscope export app-1.anrscope app-2.anrscope -o app.pftrace

Chrome's JSON is portable but holds less: no log, frame timeline, stacks, flows or units. Perfetto finds its ANR as well, but slices
without length may lose their depth. Times keep their nanoseconds as decimals.

Exit status:
    0  done; missing or inconsistent data is reported on stderr
    1  a recording or map cannot be read, or the trace cannot be written; then there is no trace
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings (*.anrscope)
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The trace to write; the extension chooses the format: .pftrace, .json or .json.gz
    #[arg(long, short, value_name = "FILE", value_parser = trace_path())]
    out: PathBuf,
    /// The method map of the build, or a directory of maps [default: NAME.methodMapping.txt or methodMapping.txt beside each recording NAME.anrscope, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them: restores the original names
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// A directory of files with symbols, for native stacks: unstripped .so, .so.dbg, Breakpad's .sym; may be repeated
    #[arg(long, value_name = "DIR")]
    symbols: Vec<PathBuf>,
    /// Compression level: 0 for none, 9 for the smallest
    #[arg(long, value_name = "0-9", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,
    /// Leave out the synthetic system_server process, from which Perfetto's android.anrs knows of an ANR
    #[arg(long)]
    no_stdlib_anr: bool,
    /// Leave out what ended before this time: seconds since the start of the trace, or with a unit (2.5s, 300ms)
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "A part of it")]
    from: Option<u64>,
    /// Leave out what began after this time
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "A part of it")]
    to: Option<u64>,
    /// Leave out slices of threads that are shorter, with all slices in them: seconds, or with a unit (1ms, 50us)
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0", help_heading = "A part of it")]
    min_duration: u64,
    /// Export only these threads, by name or tid: main,worker-1,4711
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "A part of it")]
    threads: Vec<String>,
    /// Number tracks so that the trace can be joined with others, byte by byte or by anrscope merge; makes it slightly larger
    #[arg(long)]
    merge_safe: bool,
    /// The oldest Perfetto that must open the trace without errors; before 53, states of a thread dump have no stacks
    #[arg(long, value_name = "VERSION", default_value_t = exporter::DEFAULT_MIN_PERFETTO)]
    min_perfetto: u32,
    /// Sort the events of a JSON trace by time, for programs that do not; uses a temporary file if they do not fit into memory
    #[arg(long)]
    sorted: bool,
    /// Print only errors and warnings
    #[arg(long, short)]
    quiet: bool,
    /// Print a summary as JSON to stdout
    #[arg(long)]
    json: bool,
}

/// Parses seconds, or a number with a unit, into nanoseconds.
pub(crate) fn duration(text: &str) -> Result<u64, String> {
    let text = text.trim_start_matches('+');
    let units = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
    let (number, digits) = units
        .into_iter()
        .find_map(|(unit, digits)| Some((text.strip_suffix(unit)?, digits)))
        .unwrap_or((text, 9));
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    // Parsed digit by digit: a double would lose precision for a time since boot.
    let digit = |b: u8| b.is_ascii_digit();
    let shape = !whole.is_empty() && whole.bytes().chain(rest.bytes()).all(digit) && rest.len() <= digits;
    let padded = format!("{whole}{rest:0<digits$}");
    shape
        .then(|| padded.parse().ok())
        .flatten()
        .ok_or_else(|| "a time is a number of seconds, or has a unit: 2.5s, 300ms, 50us, 7ns".to_owned())
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    if let (Some(from), Some(to)) = (options.from, options.to)
        && from > to
    {
        return Err(UsageError("--from is after --to: no time is left between them").into());
    }
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let mut maps = MethodMaps::new(options.method_map.as_deref(), options.mapping.as_deref())?;
    let recordings = Recordings::open(&options.recordings, &mut maps)?;
    let selection = Selection {
        from: options.from,
        to: options.to,
        min_duration: options.min_duration,
        threads: options.threads,
    };
    let settings = ExportOptions {
        level: options.level.into(),
        stdlib_anr: !options.no_stdlib_anr,
        merge_safe: options.merge_safe,
        sorted: options.sorted,
        min_perfetto: options.min_perfetto,
        symbols: symbols::checked(options.symbols)?,
        selection,
        ..ExportOptions::default()
    };
    let place = output::new_directory_of(&options.out);
    let summary = write_watched(&recordings, settings, &options.out, Progress::new(!options.quiet))?;
    terminal::warn_all(&summary.warnings)?;
    if options.json {
        terminal::print_json(&to_json(&summary))?;
    } else if !options.quiet {
        writeln!(terminal::stderr(), "{} -> {}{place}", in_words(&summary), options.out.display())?;
    }
    Ok(())
}

/// Writes a complete trace to `out`, whole or not at all.
///
/// # Errors
/// If a recording cannot be read any further, or `out` cannot be written.
pub(crate) fn write(recordings: &Recordings, out: &Path) -> anyhow::Result<ExportSummary> {
    write_watched(recordings, ExportOptions::default(), out, Progress::new(false))
}

/// As [`write()`], with options and a progress line. The name of `out` decides about the format.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_watched(
    recordings: &Recordings,
    options: ExportOptions,
    out: &Path,
    progress: Progress,
) -> anyhow::Result<ExportSummary> {
    let inputs = recordings.inputs();
    let (format, is_compressed) = named_form(out).map(|(_, form)| form).unwrap_or_default();
    let options = ExportOptions { format, ..options };
    let output = Output::create(out)?;
    let watched = Watched { out: output.file(), written: 0, began: Instant::now(), recordings, progress };
    let cannot_write = || output::cannot_write(out);
    let failed = |error: ExportError| match error {
        ExportError::Write(source) => anyhow::Error::new(source).context(cannot_write()),
        of_an_input => of_an_input.into(),
    };
    let mut summary;
    if is_compressed {
        let mut file = GzEncoder::new(watched, Compression::new(options.level));
        summary = export(&inputs, &options, &mut file).map_err(failed)?;
        file.finish().with_context(cannot_write)?;
        summary.bytes = output.file().metadata().with_context(cannot_write)?.len();
    } else {
        summary = export(&inputs, &options, watched).map_err(failed)?;
    }
    output.commit()?;
    Ok(summary)
}

/// An output that updates the progress line.
struct Watched<'a> {
    out: &'a File,
    written: u64,
    began: Instant,
    recordings: &'a Recordings,
    progress: Progress,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        self.progress.show(|| {
            let (read, total) = self.recordings.read_so_far();
            let left = left_after(self.began.elapsed(), read, total);
            format!(
                "{} % read, {} KiB written{left}",
                (read * 100 / total.max(1)).min(99),
                self.written >> 10
            )
        });
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Describes a trace, in a phrase.
pub(crate) fn in_words(summary: &ExportSummary) -> String {
    let counts = &summary.counts;
    let mut text = format!("{} on {}", counted(counts.slices, "slice"), counted(counts.tracks, "track"));
    if counts.anrs > 0 {
        text.push_str(&format!(", {}", counted(counts.anrs, "ANR")));
    }
    if counts.filtered > 0 {
        text.push_str(&format!(", {} left out as asked", counted(counts.filtered, "slice")));
    }
    if counts.paused > 0 {
        text.push_str(&format!(", paused for {:.3} s", counts.paused as f64 / 1e9));
    }
    if counts.methods_off > 0 {
        text.push_str(&format!(", {} switched off", counted(counts.methods_off, "method")));
    }
    text.push_str(&format!(", {}", counted(summary.bytes, "byte")));
    text
}

fn to_json(summary: &ExportSummary) -> serde_json::Value {
    let mut document = json!(summary.counts);
    document["bytes"] = summary.bytes.into();
    document["paused_ms"] = (summary.counts.paused as f64 / 1e6).into();
    document["main_cost_percent"] = (summary.counts.main_cost_ppm as f64 / 1e4).into();
    document["warnings"] = summary.warnings.iter().map(ToString::to_string).collect();
    document
}

/// The end of a trace's name, and what it stands for: the format, and true if the file is compressed with gzip.
pub(crate) fn named_form(path: &Path) -> Option<(&'static str, (Format, bool))> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let forms = [
        (".pftrace", (Format::Perfetto, false)),
        (".perfetto-trace", (Format::Perfetto, false)),
        (".json", (Format::ChromeJson, false)),
        (".json.gz", (Format::ChromeJson, true)),
    ];
    forms.into_iter().find(|(end, _)| name.ends_with(end))
}

/// Parses a path whose extension names a trace format, or that names an existing file which is not a regular one.
pub(crate) fn trace_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from).try_map(|path| {
        let device = path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        if device || named_form(&path).is_some() {
            Ok(path)
        } else {
            Err("the name of a trace ends with .pftrace, .json or .json.gz")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        let read = |text| duration(text).ok();
        assert_eq!(
            (read("2.5s"), read("2.5"), read("+3")),
            (Some(2_500_000_000), Some(2_500_000_000), Some(3_000_000_000))
        );
        assert_eq!((read("300ms"), read("50us"), read("7ns")), (Some(300_000_000), Some(50_000), Some(7)));
        assert_eq!((read("0.000000001"), read("0.0000000001")), (Some(1), None));
        for bad in ["", "s", "-1", "1h", "1.2ns", "99999999999999999999", "1e3", "½"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
