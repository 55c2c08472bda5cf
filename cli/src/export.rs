//! `anrscope export`: recordings in, a trace for a viewer out.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::{OsStringValueParser, TypedValueParser};
use exporter::{ExportError, ExportOptions, ExportSummary, Format, export};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::cleanup;
use crate::output::Output;
use crate::recordings::Recordings;

/// Write recordings as a trace that ui.perfetto.dev and chrome://tracing open
///
/// Several recordings, of one app or of several, come to lie on one time line. Names come out of the
/// method map of the build; a map of another build is told and not used, since its names would be wrong.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # For https://ui.perfetto.dev. A methodMapping.txt beside the recording is used.
    anrscope export app.anrscope -o app.pftrace

    # With the map of the build that ran; what was written as JSON on stdout.
    anrscope export app.anrscope -o app.pftrace --method-map build/methodMapping.txt --json

    # Chrome's JSON, compressed.
    anrscope export app.anrscope -o app.json.gz

Exit status:
    0  done; what is missing in a recording, or does not fit, is told on stderr
    1  a recording or map cannot be read, or the trace not be written; then there is no trace
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings (*.anrscope)
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The trace; its form by its name: .pftrace, .json or .json.gz
    #[arg(long, short, value_name = "FILE", value_parser = trace_path())]
    out: PathBuf,
    /// The method map of the build [default: methodMapping.txt beside each recording, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them: names from before
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Compression: 0 none, 9 small
    #[arg(long, value_name = "0-9", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,
    /// Leave out the made-up system_server process, by which Perfetto's android.anrs knows of an ANR
    #[arg(long)]
    no_stdlib_anr: bool,
    /// Print what was written as JSON to stdout
    #[arg(long)]
    json: bool,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    level: u8,
    stdlib_anr: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: 6, stdlib_anr: true }
    }
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let recordings =
        Recordings::open(&options.recordings, options.method_map.as_deref(), options.mapping.as_deref())?;
    let settings = Settings { level: options.level, stdlib_anr: !options.no_stdlib_anr };
    let summary = write(&recordings, settings, &options.out)?;
    let mut stderr = io::stderr().lock();
    for warning in &summary.warnings {
        writeln!(stderr, "warning: {warning}")?;
    }
    if options.json {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{:#}", to_json(&summary))?;
        stdout.flush()?;
    } else {
        writeln!(stderr, "{} -> {}", in_words(&summary), options.out.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a trace to `out`, whole or not at all.
///
/// # Errors
/// If a recording cannot be read any further, or `out` cannot be written.
pub(crate) fn write(
    recordings: &Recordings,
    settings: Settings,
    out: &Path,
) -> anyhow::Result<ExportSummary> {
    let inputs = recordings.inputs();
    let form = Form::of(out).unwrap_or(Form::Perfetto);
    let options = ExportOptions {
        format: if form == Form::Perfetto { Format::Perfetto } else { Format::ChromeJson },
        level: u32::from(settings.level),
        stdlib_anr: settings.stdlib_anr,
    };
    let output = Output::create(out)?;
    let cannot_write = || format!("cannot write {}: choose another output", out.display());
    let failed = |error: ExportError| match error {
        ExportError::Write(source) => anyhow::Error::new(source).context(cannot_write()),
        of_an_input => of_an_input.into(),
    };
    let mut summary;
    if form == Form::JsonGz {
        let mut file = GzEncoder::new(output.file(), Compression::new(options.level));
        summary = export(&inputs, &options, &mut file).map_err(failed)?;
        file.finish().with_context(cannot_write)?;
        summary.bytes = output.file().metadata().with_context(cannot_write)?.len();
    } else {
        summary = export(&inputs, &options, output.file()).map_err(failed)?;
    }
    output.commit()?;
    Ok(summary)
}

/// What is in a trace, as a phrase.
pub(crate) fn in_words(summary: &ExportSummary) -> String {
    let counts = &summary.counts;
    let plural = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut text = format!("{} on {}", plural(counts.slices, "slice"), plural(counts.tracks, "track"));
    if counts.anrs > 0 {
        text.push_str(&format!(", {}", plural(counts.anrs, "ANR")));
    }
    if counts.paused > 0 {
        text.push_str(&format!(", paused for {:.3} s", counts.paused as f64 / 1e9));
    }
    if counts.methods_off > 0 {
        text.push_str(&format!(", {} switched off", plural(counts.methods_off, "method")));
    }
    text.push_str(&format!(", {}", plural(summary.bytes, "byte")));
    text
}

fn to_json(summary: &ExportSummary) -> serde_json::Value {
    let counts = &summary.counts;
    json!({
        "slices": counts.slices,
        "events": counts.events,
        "bytes": summary.bytes,
        "tracks": counts.tracks,
        "clamped": counts.clamped,
        "incomplete": counts.incomplete,
        "instants": counts.instants,
        "counters": counts.counters,
        "anrs": counts.anrs,
        "orphan_exits": counts.orphan_exits,
        "unbalanced": counts.unbalanced,
        "cut_depth": counts.cut_depth,
        "overwritten": counts.overwritten,
        "dropped": counts.dropped,
        "paused_ms": counts.paused as f64 / 1e6,
        "methods_off": counts.methods_off,
        "main_cost_percent": counts.main_cost_ppm as f64 / 1e4,
        "lost_words": counts.lost_words,
        "faults": counts.faults,
        "skipped": counts.skipped,
        "warnings": summary.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Perfetto,
    Json,
    JsonGz,
}

impl Form {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let forms = [
            (".pftrace", Self::Perfetto),
            (".perfetto-trace", Self::Perfetto),
            (".json", Self::Json),
            (".json.gz", Self::JsonGz),
        ];
        forms.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, form)| form)
    }
}

/// Takes a path whose name tells the form of a trace, or one that is there and no regular file.
pub(crate) fn trace_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let path = PathBuf::from(text);
        let device = path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        if device || Form::of(&path).is_some() {
            Ok(path)
        } else {
            Err("the name of a trace ends with .pftrace, .json or .json.gz")
        }
    })
}
