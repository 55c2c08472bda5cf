//! `anrscope report`: what hung, in words.

mod fleet;
mod options;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::bail;
use exporter::matrix::{IssueOptions, issues};
use exporter::report::SCHEMA_VERSION;
use exporter::{ExportOptions, Report, export};
use serde_json::{Value, json};
use trace_rules::Rules;

use crate::recordings::Recordings;
use options::{ReportFormat, RulesOf};

pub(crate) use options::Options;

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
    let mut stdout = crate::terminal::stdout_of(matches!(options.format, ReportFormat::Json));
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
        if let Some(warning) = exporter::Warning::of_drops(input.recording) {
            crate::terminal::warn(warning)?;
        }
        found.extend(issues(input.file, input.recording, input.map, &how)?);
    }
    let mut stdout = io::BufWriter::new(crate::terminal::stdout_of(true));
    for issue in found {
        writeln!(stdout, "{issue}")?;
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}
