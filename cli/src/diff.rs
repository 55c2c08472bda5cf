//! `anrscope diff`: compares two recordings, or two sets of them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use exporter::diff::{ALPHA, DurationTable, Row, compare};
use serde_json::json;

use crate::output;
use crate::recordings::{MethodMaps, Recordings, files_of, one_by_one};
use crate::terminal::{counted, warn_all};

/// Compare two builds: what became slower on the main thread, by method and by message
///
/// Each side is a recording or a directory of them (*.anrscope, subdirectories included). Rows are matched by name. Medians are compared
/// with a rank test (Mann-Whitney) that is corrected for the number of rows: q is the share of false alarms.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Compare two runs.
    anrscope diff before.anrscope after.anrscope

    # Two builds, twenty runs each; fail if a median grew by more than 20 % and at least a millisecond.
    anrscope diff runs/main runs/branch --fail-above 20

    # JSON for a script.
    anrscope diff runs/main runs/branch --json

Exit status:
    0  done; nothing is slower than --fail-above allows
    1  something is slower; or a recording or map cannot be read
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// The recording or directory of recordings to compare with
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The recording or directory to compare
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Fail if a median grew by more than this percentage, significantly (q < 0.05, 8 calls on both sides)
    #[arg(long, value_name = "PERCENT")]
    fail_above: Option<f64>,
    /// With --fail-above: ignore growth below this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1.0)]
    min_change: f64,
    /// Number of rows to print
    #[arg(long, value_name = "N", default_value_t = 30)]
    top: usize,
    /// Print all rows as JSON
    #[arg(long)]
    json: bool,
    /// Write the rows to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The method map of the BEFORE side, or a directory of maps [default: methodMapping.txt beside each recording]
    #[arg(long, value_name = "FILE")]
    before_map: Option<PathBuf>,
    /// The method map of the AFTER side, or a directory of maps
    #[arg(long, value_name = "FILE")]
    after_map: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let threshold = options.fail_above.unwrap_or(0.0);
    if !(0.0..=1e6).contains(&threshold) || !(0.0..=1e9).contains(&options.min_change) {
        bail!("--fail-above and --min-change take numbers from 0 up");
    }
    let before = side(&options.before, options.before_map.as_deref())?;
    let after = side(&options.after, options.after_map.as_deref())?;
    let rows = compare(&before, &after);
    let least = (options.min_change * 1e6) as u64;
    let fails = |row: &Row| options.fail_above.is_some_and(|percent| row.is_slower(percent, least));
    let failed: Vec<&Row> = rows.iter().filter(|row| fails(row)).collect();
    output::page(options.out.as_deref(), options.json, |out| {
        if options.json {
            let document = json!({
                "schema": "1.0",
                "recordings": [before.recordings, after.recordings],
                "fail_above_percent": options.fail_above,
                "failed": failed.iter().map(|row| &row.name).collect::<Vec<_>>(),
                "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            });
            writeln!(out, "{document:#}")?;
        } else {
            write_table(out, &rows, &options, [before.recordings, after.recordings])?;
        }
        Ok(())
    })?;
    let mut stderr = crate::terminal::stderr();
    for row in &failed {
        writeln!(
            stderr,
            "slower: {} {}: median {} -> {} ms ({:+.0} %)",
            row.kind.word(),
            row.name,
            ms(row.median[0]),
            ms(row.median[1]),
            row.change_percent().unwrap_or_default()
        )?;
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Reads one recording at a time: memory grows with the number of names, not of recordings.
fn side(path: &PathBuf, map: Option<&Path>) -> anyhow::Result<DurationTable> {
    let mut durations = DurationTable::default();
    let mut maps = MethodMaps::new(map, None)?;
    let files = files_of(std::slice::from_ref(path))?;
    one_by_one(&files, &format!("{}: ", path.display()), true, |file| {
        for input in Recordings::open(std::slice::from_ref(file), &mut maps)?.inputs() {
            warn_all(durations.add(input.file, input.recording, input.map)?)?;
        }
        Ok(())
    })?;
    Ok(durations.finish())
}

fn ms(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6))
}

fn write_table(out: &mut dyn Write, rows: &[Row], options: &Options, recordings: [u64; 2]) -> io::Result<()> {
    let before = counted(recordings[0], "recording");
    writeln!(out, "{before} before, {} after; main thread, medians in ms\n", recordings[1])?;
    writeln!(
        out,
        "{:>10} {:>10} {:>8}  {:>7} {:>7}  {:>8}  what",
        "before", "after", "change", "calls", "calls", "q"
    )?;
    for row in rows.iter().take(options.top) {
        let change = match row.median {
            [None, _] => "new".to_owned(),
            [_, None] => "gone".to_owned(),
            _ => row.change_percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.0} %")),
        };
        let q =
            row.q.map_or_else(|| "-".to_owned(), |q| format!("{q:.4}{}", if q < ALPHA { "*" } else { " " }));
        writeln!(
            out,
            "{:>10} {:>10} {change:>8}  {:>7} {:>7}  {q:>8}  {} {}",
            ms(row.median[0]),
            ms(row.median[1]),
            row.count[0],
            row.count[1],
            row.kind.word(),
            row.name
        )?;
    }
    if rows.len() > options.top {
        writeln!(out, "and {} more rows: --top N, or --json for all", rows.len() - options.top)?;
    }
    Ok(())
}
