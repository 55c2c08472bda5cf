//! `anrscope report`: prints what hung and why.

mod fleet;
mod options;
mod rows;

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use exporter::matrix::{IssueOptions, issues};
use exporter::{ExportOptions, Report, export};
use trace_rules::Rules;

use crate::output;
use crate::recordings::{MethodMaps, Recordings, newest_of};
use crate::symbols;
use crate::terminal::{counted, warn_all};
use options::{ReportFormat, RulesOf};

pub(crate) use options::Options;

/// Runs the subcommand.
pub(crate) fn run(mut options: Options) -> anyhow::Result<()> {
    options.symbols = symbols::checked(options.symbols)?;
    if options.group || options.rows.is_some() {
        return fleet::run(&options);
    }
    let files = files(&options)?;
    let mut maps = MethodMaps::new(options.method_map.as_deref(), options.mapping.as_deref())?;
    let recordings = Recordings::open(&files, &mut maps)?;
    let format = options.format();
    if options.verbose && !matches!(format, ReportFormat::Text) {
        bail!("--verbose applies to the text format: leave out --format, or --verbose")
    }
    let page = match format {
        ReportFormat::Matrix => issues_of(&recordings, &options)?,
        _ => page(&recordings, &files, &options)?,
    };
    output::page(options.out.as_deref(), format.is_json(), |out| Ok(out.write_all(page.as_bytes())?))
}

/// The named recordings, and of each directory the newest one.
fn files(options: &Options) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::with_capacity(options.recordings.len());
    for path in &options.recordings {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let (newest, count) = newest_of(path)?;
        if count > 1 && !options.quiet {
            writeln!(
                crate::terminal::stderr(),
                "{}: using the newest of {} (--group reads all)",
                newest.display(),
                counted(count, "recording")
            )?;
        }
        files.push(newest);
    }
    Ok(files)
}

/// Builds the report in every format but Matrix's. Warnings go to stderr too, unless the page is printed there.
fn page(recordings: &Recordings, files: &[PathBuf], options: &Options) -> anyhow::Result<String> {
    let (format, to_stdout) = (options.format(), options.out.is_none());
    // All reports are built before the first line is printed, so that an error leaves no partial output.
    let mut reports = Vec::new();
    for input in recordings.inputs() {
        reports.push(Report::with_symbols(input.file, input.recording, input.map, &options.symbols)?);
    }
    if let ReportFormat::Html = format {
        let [report] = &reports[..] else {
            bail!("an HTML page holds one recording: name one, or choose another format")
        };
        let input = recordings.inputs()[0];
        let chart = report.chart(input.file, input.recording, input.map)?;
        let mut trace = Vec::new();
        let how = ExportOptions { symbols: options.symbols.clone(), ..ExportOptions::default() };
        export(&[input], &how, &mut trace)?;
        let name = files[0].with_extension("pftrace");
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(report.to_html(&name, &chart, Some(&trace)));
    }
    if let ReportFormat::Json = format {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let document = Report::document(reports.iter().zip(files.iter().map(String::as_str)));
        return Ok(format!("{document:#}\n"));
    }
    // The page has them too: on a terminal they would appear twice.
    if !(to_stdout && crate::terminal::stdout().is_terminal()) {
        warn_all(reports.iter().flat_map(|report| &report.warnings))?;
    }
    let page = |report: &Report| {
        if options.verbose { report.verbose().to_string() } else { report.to_string() }
    };
    let pages: Vec<String> = reports.iter().map(page).collect();
    Ok(pages.join("\n"))
}

/// Builds Matrix's reports, one JSON object a line.
fn issues_of(recordings: &Recordings, options: &Options) -> anyhow::Result<String> {
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
        let reports = issues(input.file, input.recording, input.map, &how)?;
        warn_all(reports.warnings)?;
        found.extend(reports.lines);
    }
    Ok(found.iter().map(|issue| format!("{issue}\n")).collect())
}
