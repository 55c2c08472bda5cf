//! `dex-verify`: checks the code of dex files, APKs and jars, or what a rewrite added.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use dex_verifier::{Report, Severity, Share, self_check, verify_app};

const USAGE: &str = "usage: dex-verify FILE...                    check .dex, .apk, .jar and .zip files
       dex-verify --compare BEFORE AFTER     report only what AFTER has and BEFORE has not
       dex-verify --self-check FILE [STEP]   damage every STEP-th instruction; count what is noticed";
/// Largest dex that is read from an archive.
const MAX_DEX: u64 = 1 << 30;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("dex-verify: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether nothing was found that makes the exit code 1.
fn run() -> Result<bool> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let out = &mut std::io::stdout().lock();
    match arguments.as_slice() {
        [flag, before, after] if flag == "--compare" => {
            let (before, after) = (read(before.as_ref())?, read(after.as_ref())?);
            let new = after.new_since(&before);
            for (method, finding) in &new {
                writeln!(out, "{method}: {finding}")?;
            }
            writeln!(out, "before: {before}")?;
            writeln!(out, "after: {after}")?;
            let gained = after.gained_tries(&before).len();
            writeln!(out, "{gained} methods without waits gained a try block")?;
            writeln!(out, "{} new findings", new.len())?;
            Ok(new.is_empty())
        }
        [flag, file, step @ ..] if flag == "--self-check" && step.len() < 2 => {
            let step = step.first().map_or(Some(1), |step| step.to_str()?.parse().ok());
            let step = step.context("STEP is not a number")?;
            let dexes = dexes(file.as_ref())?;
            for Share { kind, made, noticed } in self_check(&slices(&dexes), step)? {
                writeln!(out, "{:5.1} % of {made:8}  {kind}", 100.0 * noticed as f64 / made as f64)?;
            }
            Ok(true)
        }
        [] => bail!(USAGE),
        [flag, ..] if flag.to_string_lossy().starts_with('-') => bail!(USAGE),
        files => {
            let mut report = Report::default();
            for file in files {
                report.append(read(file.as_ref())?);
            }
            for (method, finding) in report.all() {
                writeln!(out, "{method}: {finding}")?;
            }
            let warnings = report.lock_warnings();
            for warning in &warnings {
                writeln!(out, "{warning}")?;
            }
            if !warnings.is_empty() {
                writeln!(out, "Common causes for lock verification issues are non-optimized dex code")?;
                writeln!(out, "and incorrect proguard optimizations.")?;
            }
            writeln!(out, "{report}")?;
            let refused = [Severity::Error, Severity::Lock, Severity::Inserted];
            Ok(refused.iter().all(|severity| report.count(*severity) == 0))
        }
    }
}

/// Checks a dex file, or all dex files of an archive as one app.
fn read(path: &Path) -> Result<Report> {
    verify_app(&slices(&dexes(path)?))
        .with_context(|| format!("cannot read a dex file of {}", path.display()))
}

fn slices(dexes: &[Vec<u8>]) -> Vec<&[u8]> {
    dexes.iter().map(Vec::as_slice).collect()
}

/// Reads a dex file, or all dex files of an archive.
fn dexes(path: &Path) -> Result<Vec<Vec<u8>>> {
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    if !bytes.starts_with(b"PK") {
        return Ok(vec![bytes]);
    }
    let mut archive =
        zip::ZipArchive::new(std::io::Cursor::new(bytes)).with_context(|| format!("cannot read {shown}"))?;
    let mut dexes = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).with_context(|| format!("cannot read {shown}"))?;
        let name = entry.name().with_context(|| format!("cannot read {shown}"))?.into_owned();
        if !name.ends_with(".dex") {
            continue;
        }
        let mut dex = Vec::new();
        entry
            .take(MAX_DEX)
            .read_to_end(&mut dex)
            .with_context(|| format!("cannot read {name} of {shown}"))?;
        dexes.push(dex);
    }
    Ok(dexes)
}
