//! What `anrscope report` takes.

use std::path::PathBuf;

/// Say in words what the main thread was doing: one page a recording
///
/// What hung and for how long, why, in which method, who owned the lock that it waited for, and what to do.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # A methodMapping.txt beside the recording is used.
    anrscope report app.anrscope

    # With the map of the build that ran.
    anrscope report app.anrscope --method-map build/methodMapping.txt

    # All details: ids, signals, the recorder's cost, every list in full.
    anrscope report app.anrscope --verbose

    # A page to send along, that a phone can read.
    anrscope report app.anrscope --format html -o hang.html

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
    /// Recordings (*.anrscope), or Matrix's reports and rings; of a directory the newest recording, with --group and --parquet all
    #[arg(required = true, value_name = "RECORDING")]
    pub(super) recordings: Vec<PathBuf>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// The report as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Add all details to the page of text: ids, signals, the recorder's cost, every list in full
    #[arg(long, short, conflicts_with_all = ["json", "group", "parquet"])]
    pub(super) verbose: bool,
    /// Write the report to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// The method map of the build, or a directory of maps [default: NAME.methodMapping.txt or methodMapping.txt beside each recording NAME.anrscope, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(super) method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them: names from before
    #[arg(long, value_name = "FILE")]
    pub(super) mapping: Option<PathBuf>,
    /// Group the recordings, or all in these folders, by cause and by the method or message at its root
    #[arg(long)]
    pub(super) group: bool,
    /// Write a row for each recording to this Parquet file (docs/reports.md)
    #[arg(long, value_name = "FILE")]
    pub(super) parquet: Option<PathBuf>,
    /// With --format matrix: by whose rules [default: ours, and the app's own reports as they are where it made some]
    #[arg(long, value_enum)]
    pub(super) rules: Option<RulesOf>,
    /// With --format matrix: from how many milliseconds on a message is slow
    #[arg(long, value_name = "MS", default_value_t = 700)]
    pub(super) slow_ms: u64,
    /// Say nothing but errors, warnings and the report
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Options {
    /// The form of the report.
    pub(super) fn format(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format }
    }
}

impl ReportFormat {
    /// Whether it is JSON, in which a character can be written as an escape.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Matrix)
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum RulesOf {
    /// Matrix's, faults included
    Matrix,
    /// Ours
    Anrscope,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum ReportFormat {
    /// One page
    Text,
    /// One document (docs/report-schema.json)
    Json,
    /// One self-contained page for a browser: flame chart of the stall, message history, and the trace for Perfetto
    Html,
    /// Reports with the tags and keys of Tencent Matrix, one JSON object a line
    Matrix,
}
