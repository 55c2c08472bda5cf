//! `anrscope report --group` and `--rows`: reads many recordings.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use exporter::Report;
use exporter::fleet::{Group, Row, groups, unactionable};
use serde_json::json;

use super::options::{Options, ReportFormat};
use crate::cleanup;
use crate::fault::UsageError;
use crate::output;
use crate::recordings::{MethodMaps, Recordings, files_of, one_by_one};
use crate::terminal::{MAX_NAMED, counted};

pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    if !matches!(options.format(), ReportFormat::Text | ReportFormat::Json) {
        bail!("groups are printed as text or JSON: choose --format text or json");
    }
    if options.out.is_some() && !options.group {
        return Err(UsageError("--rows writes no report to --out: add --group, or leave out --out").into());
    }
    let files = files_of(&options.recordings)?;
    let mut maps = MethodMaps::new(options.method_map.as_deref(), options.mapping.as_deref())?;
    let (mut rows, mut unread) = (Vec::with_capacity(files.len()), 0_usize);
    let mut stderr = crate::terminal::stderr();
    one_by_one(&files, "", !options.quiet, |file| {
        // One recording at a time; an unreadable one does not stop the others.
        match row(file, &mut maps, &options.symbols) {
            Ok(row) => rows.push(row),
            Err(error) => {
                unread += 1;
                if unread <= MAX_NAMED {
                    crate::terminal::warn(crate::terminal::causes(&error))?;
                }
            }
        }
        Ok(())
    })?;
    if unread > MAX_NAMED {
        writeln!(stderr, "warning: and {} more that cannot be read", unread - MAX_NAMED)?;
    }
    if rows.is_empty() {
        bail!("none of {} could be read", counted(files.len(), "recording"));
    }
    if let Some(target) = &options.rows {
        target.write(&rows)?;
        if !options.quiet {
            writeln!(stderr, "{} -> {}", counted(rows.len(), "row"), target.path().display())?;
        }
    }
    if options.group {
        let found = groups(&rows);
        output::page(options.out.as_deref(), options.format().is_json(), |out| {
            if options.format().is_json() {
                let causes = unactionable(&rows);
                let document = json!({
                    "schema": "1.0",
                    "recordings": rows.len(),
                    "unread": unread,
                    "groups": found,
                    "unactionable": {
                        "count": causes.iter().map(|(_, count)| count).sum::<u64>(),
                        "causes": causes.iter().map(|(id, count)| json!({"id": id, "count": count})).collect::<Vec<_>>(),
                    },
                });
                writeln!(out, "{document:#}")?;
            } else {
                write_table(out, &rows, &found)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn row(file: &PathBuf, maps: &mut MethodMaps, symbols: &[PathBuf]) -> anyhow::Result<Row> {
    let recordings = Recordings::open(std::slice::from_ref(file), maps)?;
    let input = recordings.inputs()[0];
    let report = Report::with_symbols(input.file, input.recording, input.map, symbols)?;
    Ok(Row::of(&file.display().to_string(), input.recording, &report))
}

fn write_table(out: &mut dyn Write, rows: &[Row], groups: &[Group]) -> io::Result<()> {
    let hung = rows.iter().filter(|row| row.hung).count();
    writeln!(out, "{}, in {hung} of them main hung\n", counted(rows.len(), "recording"))?;
    writeln!(
        out,
        "{:>7} {:>7} {:>10} {:>10}  {:<22} root",
        "count", "share", "median s", "longest s", "cause"
    )?;
    for group in groups {
        writeln!(
            out,
            "{:>7} {:>5.1} % {:>10.3} {:>10.3}  {:<22} {}",
            group.count,
            group.count as f64 * 100.0 / rows.len() as f64,
            group.median_ns as f64 / 1e9,
            group.longest_ns as f64 / 1e9,
            group.cause,
            group.root.as_deref().unwrap_or("-")
        )?;
    }
    let causes = unactionable(rows);
    if causes.is_empty() {
        return Ok(());
    }
    let share = |count: u64| format!("{count} ({:.1} %)", count as f64 * 100.0 / rows.len() as f64);
    let sum = causes.iter().map(|(_, count)| count).sum();
    let causes: Vec<_> = causes.into_iter().map(|(id, count)| format!("{id} {}", share(count))).collect();
    writeln!(out, "\nunactionable, by the device or the system: {}: {}", share(sum), causes.join(", "))
}
