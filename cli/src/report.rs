//! `anrscope report`: what hung, in words.

mod fleet;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use exporter::matrix::{IssueOptions, issues};
use exporter::report::SCHEMA_VERSION;
use exporter::{ExportOptions, Report, export};
use serde_json::{Value, json};
use trace_rules::Rules;

use crate::recordings::Recordings;

/// Say in words what the main thread was doing: one page a recording
///
/// What hung, for how long, in which method under which message, and who held the lock it waited for.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # A methodMapping.txt beside the recording is used.
    anrscope report app.anrscope

    # With the map of the build that ran.
    anrscope report app.anrscope --method-map build/methodMapping.txt

    # A page to send along, that a phone can read.
    anrscope report app.anrscope --format html > hang.html

    # What hangs most in the field, of thousands of recordings; and a row each for DuckDB or Spark.
    anrscope report --group recordings/ --parquet fleet.parquet

    # What Tencent Matrix would have reported, by its own rules, for a server that takes its reports.
    anrscope report app.anrscope --format matrix --rules matrix

Exit status:
    0  done, whether something hung or not; what is missing in a recording, or does not fit, is told on stderr
    1  a recording or map cannot be read
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings (*.anrscope), or Matrix's reports and rings; with --group and --parquet also folders
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// The method map of the build [default: methodMapping.txt beside each recording, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them: names from before
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Group the recordings, or all in these folders, by cause and by the method or message at its root
    #[arg(long)]
    group: bool,
    /// Write a row for each recording to this Parquet file (docs/fleet.md)
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// With --format matrix: by whose rules [default: ours, and the app's own reports as they are where it made some]
    #[arg(long, value_enum)]
    rules: Option<RulesOf>,
    /// With --format matrix: from how many milliseconds on a message is slow
    #[arg(long, value_name = "MS", default_value_t = 700)]
    slow_ms: u64,
    /// Say nothing but errors, warnings and the report
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RulesOf {
    /// Matrix's, faults included
    Matrix,
    /// Ours
    Anrscope,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ReportFormat {
    /// One page
    Text,
    /// One document (docs/report-schema.json)
    Json,
    /// One self-contained page for a browser: flame chart of the stall, message history, and the trace for Perfetto
    Html,
    /// Reports with the tags and keys of Tencent Matrix, one JSON object a line
    Matrix,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    if options.group || options.parquet.is_some() {
        return fleet::run(&options);
    }
    let recordings =
        Recordings::open(&options.recordings, options.method_map.as_deref(), options.mapping.as_deref())?;
    if let ReportFormat::Matrix = options.format {
        return write_issues(&recordings, &options);
    }
    // All of them before the first line, so that an error leaves no half report.
    let mut reports = Vec::new();
    for input in recordings.inputs() {
        reports.push(Report::build(input.file, input.recording, input.map)?);
    }
    let mut stdout = io::stdout().lock();
    if let ReportFormat::Html = options.format {
        let [report] = &reports[..] else {
            bail!("one page is of one recording: name one, or choose another format")
        };
        let input = recordings.inputs()[0];
        let chart = report.chart(input.file, input.recording, input.map)?;
        let mut trace = Vec::new();
        export(&[input], &ExportOptions::default(), &mut trace)?;
        let name = options.recordings[0].with_extension("pftrace");
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        stdout.write_all(report.to_html(&name, &chart, Some(&trace)).as_bytes())?;
        stdout.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if let ReportFormat::Json = options.format {
        let files = options.recordings.iter().map(|file| file.display().to_string());
        let documents: Vec<Value> =
            reports.iter().zip(files).map(|(report, file)| report.to_json(&file)).collect();
        writeln!(stdout, "{:#}", json!({"schema": SCHEMA_VERSION, "reports": documents}))?;
        stdout.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    // The page tells them too; who reads it on a terminal need not see them twice.
    if !stdout.is_terminal() {
        for warning in reports.iter().flat_map(|report| &report.warnings) {
            crate::terminal::warn(warning)?;
        }
    }
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            writeln!(stdout)?;
        }
        write!(stdout, "{report}")?;
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn write_issues(recordings: &Recordings, options: &Options) -> anyhow::Result<ExitCode> {
    let rules = options.rules.map(|rules| match rules {
        RulesOf::Matrix => Rules::Matrix,
        RulesOf::Anrscope => Rules::Anrscope,
    });
    let how = IssueOptions { rules, slow_ms: options.slow_ms, ..IssueOptions::default() };
    let mut found = Vec::new();
    for input in recordings.inputs() {
        found.extend(issues(input.file, input.recording, input.map, &how)?);
    }
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    for issue in found {
        writeln!(stdout, "{issue}")?;
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}
