//! Options of `anrscope report`.

use std::path::PathBuf;

use super::rows::RowsFile;

/// Print what the main thread was doing: one page per recording
///
/// Shows what hung and for how long, why, in which method, who owned the lock that it waited for, and what to do.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Uses a methodMapping.txt beside the recording.
    anrscope report app.anrscope

    # With the map of the build that ran.
    anrscope report app.anrscope --method-map build/methodMapping.txt

    # All details: ids, signals, the recorder's cost, every list in full.
    anrscope report app.anrscope --verbose

    # A page to share, readable on a phone.
    anrscope report app.anrscope --format html -o hang.html

    # What hangs most often across thousands of recordings; and one row each for DuckDB or Spark.
    anrscope report --group recordings/ --rows fleet.jsonl

    # The reports that Tencent Matrix would have made, for a server that takes them.
    anrscope report app.anrscope --format matrix --rules matrix

Exit status:
    0  done, whether something hung or not; missing or inconsistent data is reported on stderr
    1  a recording or map cannot be read
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings (*.anrscope), or Matrix's reports and rings; of a directory the newest recording, with --group and --rows all
    #[arg(required = true, value_name = "RECORDING")]
    pub(super) recordings: Vec<PathBuf>,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Print the report as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Add all details to the text: ids, signals, the recorder's cost, every list in full
    #[arg(long, short, conflicts_with_all = ["json", "group", "rows"])]
    pub(super) verbose: bool,
    /// Write the report to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// The method map of the build, or a directory of maps [default: NAME.methodMapping.txt or methodMapping.txt beside each recording NAME.anrscope, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(super) method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them: restores the original names
    #[arg(long, value_name = "FILE")]
    pub(super) mapping: Option<PathBuf>,
    /// A directory of files with symbols, for native stacks: unstripped .so, .so.dbg, Breakpad's .sym; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(super) symbols: Vec<PathBuf>,
    /// Group the recordings, or all in these directories, by cause and by the method or message at the root
    #[arg(long)]
    pub(super) group: bool,
    /// Write a row for each recording to this file (docs/reports.md): JSON Lines (.jsonl, .ndjson, .json) or CSV (.csv)
    #[arg(long, value_name = "FILE", value_parser = RowsFile::parser())]
    pub(super) rows: Option<RowsFile>,
    /// With --format matrix: whose rules to apply [default: anrscope's; the app's own reports are kept where it made some]
    #[arg(long, value_enum)]
    pub(super) rules: Option<RulesOf>,
    /// With --format matrix: how many milliseconds make a message slow
    #[arg(long, value_name = "MS", default_value_t = 700)]
    pub(super) slow_ms: u64,
    /// Print only errors, warnings and the report
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Options {
    /// The format of the report.
    pub(super) fn format(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format }
    }
}

impl ReportFormat {
    /// Whether it is JSON, where control characters become escapes.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Matrix)
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum RulesOf {
    /// Matrix's rules, known faults included
    Matrix,
    /// anrscope's rules
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
