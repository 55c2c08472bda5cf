//! `anrscope merge`: combines recordings and traces of one device on one timeline.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use exporter::merge::{Budget, Metered, Run, SystemFacts, TraceFacts, Walk, runs_in};
use exporter::{ExportOptions, export};
use serde_json::json;
use trace_format::sections::profile::{ANR, Outcome};
use trace_format::{Recording, Source};

use crate::cleanup;
use crate::file_kind::FileKind;
use crate::output::{self, Output};
use crate::recordings::{MethodMaps, Recordings};
use crate::terminal::{self, counted};

mod tar;

/// Merge recordings with a trace of the whole system
///
/// A system trace (from `perfetto` or the developer options) shows the CPUs and the other processes, a recording what the app did:
/// together they show why main did not run. All inputs must be of one device and one boot, whose clock they share.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # One file that every version of Perfetto opens.
    anrscope merge app.anrscope system.perfetto-trace -o both.pftrace

    # An archive with a manifest, for Perfetto 58 and later: each trace stays unchanged, in any format.
    anrscope merge app.anrscope system.perfetto-trace -o both.tar

    # Traces that were exported earlier; for .pftrace they need --merge-safe.
    anrscope export app.anrscope -o app.pftrace --merge-safe
    anrscope merge app.pftrace system.perfetto-trace -o both.pftrace

Exit status:
    0  done; inputs that may not belong together are warnings on stderr
    1  an input cannot be read or merged, or the output cannot be written; then there is no output
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings (*.anrscope) and Perfetto traces; a .tar takes other traces that Perfetto can read, too
    #[arg(required = true, value_name = "FILE", num_args = 2..)]
    inputs: Vec<PathBuf>,
    /// The output: .pftrace or .tar
    #[arg(long, short, value_name = "FILE", value_parser = merged_path())]
    out: PathBuf,
    /// The method map of the recordings' build, or a directory of maps [default: NAME.methodMapping.txt or methodMapping.txt beside each recording NAME.anrscope, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Print only errors and warnings
    #[arg(long, short)]
    quiet: bool,
    /// Print a summary as JSON to stdout
    #[arg(long)]
    json: bool,
}

fn is_tar(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tar"))
}

fn merged_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from).try_map(|path| {
        let trace = path.extension().is_some_and(|e| e == "pftrace" || e == "perfetto-trace");
        if trace || is_tar(&path) {
            Ok(path)
        } else {
            Err("the name of a merged trace ends with .pftrace or .tar")
        }
    })
}

/// What to do about two inputs of one run.
const LEAVE_OUT: &str = "so their events would be there twice: leave one of them out";

/// Detects the kind of an input.
fn kind_of(path: &Path) -> anyhow::Result<FileKind> {
    let kind = FileKind::of(path).with_context(|| format!("cannot open {}", path.display()))?;
    if let FileKind::Directory | FileKind::Empty = kind
        && let Some(instead) = kind.instead_of("merge", path)
    {
        bail!(instead);
    }
    Ok(kind)
}

/// Opens a trace, decompressing gzip.
fn unpacked<'b>(path: &Path, budget: &'b Budget) -> anyhow::Result<Box<dyn Read + 'b>> {
    let failed = || format!("cannot open {}", path.display());
    let mut file = BufReader::new(File::open(path).with_context(failed)?);
    let packed = file.fill_buf().with_context(failed)?.starts_with(&[0x1F, 0x8B]);
    Ok(match packed {
        true => Box::new(Metered::new(flate2::bufread::MultiGzDecoder::new(file), budget)),
        false => Box::new(file),
    })
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let place = output::new_directory_of(&options.out);
    let warnings = write(&options)?;
    terminal::warn_all(&warnings)?;
    if options.json {
        let bytes = options.out.metadata().map(|metadata| metadata.len()).ok();
        let document = json!({"files": options.inputs.len(), "bytes": bytes, "warnings": warnings});
        terminal::print_json(&document)?;
    } else if !options.quiet {
        writeln!(
            terminal::stderr(),
            "{} -> {}{place}",
            counted(options.inputs.len(), "file"),
            options.out.display()
        )?;
    }
    Ok(())
}

/// Merges files into `out`, whole or not at all; recordings are read with the given map, or else with the maps beside them. Returns
/// warnings about inputs that may not belong together.
///
/// # Errors
/// If an input cannot be read or merged, or `out` cannot be written.
pub(crate) fn join(
    inputs: Vec<PathBuf>,
    out: &Path,
    method_map: Option<&Path>,
) -> anyhow::Result<Vec<String>> {
    let method_map = method_map.map(Path::to_owned);
    write(&Options { inputs, out: out.to_owned(), method_map, mapping: None, quiet: true, json: false })
}

/// Checks that no file is given twice, under any names.
fn check_distinct(inputs: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen = HashSet::new();
    for path in inputs {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !seen.insert(file) {
            bail!("{} is given twice: name each file once", path.display());
        }
    }
    Ok(())
}

/// Checks that no run of a process is given twice: two recordings of it are an error, a recording and a trace of it a warning.
fn check_runs(inputs: &[PathBuf], kinds: &[FileKind]) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut known: Vec<(&Path, bool, HashSet<Run>)> = Vec::new();
    for (path, kind) in inputs.iter().zip(kinds) {
        let recorded = *kind == FileKind::Recording;
        let runs = match kind {
            // An unreadable input is reported when it is merged.
            FileKind::Recording => {
                exporter::open_recording(path).ok().and_then(|r| run_of(&r)).into_iter().collect()
            }
            FileKind::PerfettoTrace => {
                let budget = Budget::for_inputs(path.metadata().map_or(0, |metadata| metadata.len()));
                runs_in(unpacked(path, &budget)?)
            }
            _ => continue,
        };
        for (other, other_recorded, others) in &known {
            let Some(Run { pid, .. }) = runs.intersection(others).next() else { continue };
            let (one, two) = (other.display(), path.display());
            if recorded && *other_recorded {
                bail!("{one} and {two} are recordings of the same run of pid {pid}: name one of them");
            }
            warnings.push(format!("{one} and {two} are of the same run of pid {pid}, {LEAVE_OUT}"));
        }
        known.push((path, recorded, runs));
    }
    Ok(warnings)
}

/// The run of a recording, if its start is known.
fn run_of<S: Source>(recording: &Recording<S>) -> Option<Run> {
    let header = recording.header();
    Some(Run { pid: header.pid, started: header.start.boottime }).filter(|run| run.pid > 0 && run.started > 0)
}

fn write(options: &Options) -> anyhow::Result<Vec<String>> {
    check_distinct(&options.inputs)?;
    let kinds = options.inputs.iter().map(|path| kind_of(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut warnings = check_runs(&options.inputs, &kinds)?;
    let output = Output::create(&options.out)?;
    warnings.extend(if is_tar(&options.out) {
        archive(options, &kinds, output.file())?
    } else {
        concatenate(options, &kinds, output.file())?
    });
    warnings.dedup();
    output.commit()?;
    Ok(warnings)
}

/// Writes the trace of a recording to `out`, without what the other traces contain already, and returns warnings.
fn write_recording(
    options: &Options,
    maps: &mut MethodMaps,
    path: &Path,
    system: &SystemFacts,
    out: impl Write,
) -> anyhow::Result<Vec<String>> {
    let recordings = Recordings::open(&[path.to_owned()], maps)?;
    let known_anr = recordings.inputs().iter().any(|input| {
        let header = input.recording.header();
        system.has_anr(&header.process_name, header.pid)
    });
    let how = ExportOptions {
        merge_safe: true,
        stdlib_anr: !known_anr,
        known_processes: system.processes.iter().copied().collect(),
        ..ExportOptions::default()
    };
    let summary = export(&recordings.inputs(), &how, out)?;
    let mut warnings: Vec<String> = summary.warnings.iter().map(ToString::to_string).collect();
    for input in recordings.inputs() {
        let there =
            |name: &str| options.inputs.iter().any(|path| path.file_name().is_some_and(|own| own == name));
        for profile in exporter::facts::Facts::of(input.recording)?
            .sections
            .profiles
            .iter()
            .filter(|p| p.outcome == Outcome::Stored && !there(p.file_name()))
        {
            let of = if profile.trigger == ANR { "of this recording's ANR" } else { "for this recording" };
            warnings.push(format!(
                "the platform saved a profile {of} at {}: it is not among the inputs",
                profile.path.escape_debug()
            ));
        }
    }
    Ok(warnings)
}

/// Checks that all inputs are of one boot: the clocks of two boots are unrelated, though they overlap.
fn check_boot(
    first: &mut Option<(PathBuf, i128)>,
    path: &Path,
    facts: &TraceFacts,
    warnings: &mut Vec<String>,
) {
    /// Two boots are further apart than this; the wall clock is adjusted by less.
    const APART: i128 = 10_000_000_000;
    let Some(booted) = facts.booted else {
        if !facts.has_boottime {
            warnings.push(format!(
                "{} has no CLOCK_BOOTTIME: its times may not match those of the others",
                path.display()
            ));
        }
        return;
    };
    match first {
        Some((other, at)) if (*at - booted).abs() > APART => warnings.push(format!(
            "{} and {} are of different boots of a device, or of two devices: their times are unrelated",
            other.display(),
            path.display()
        )),
        Some(_) => {}
        None => *first = Some((path.to_owned(), booted)),
    }
}

/// Concatenates Perfetto traces: the format has no header or trailer.
fn concatenate(options: &Options, kinds: &[FileKind], out: &File) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut maps = MethodMaps::new(options.method_map.as_deref(), options.mapping.as_deref())?;
    let mut walked: Vec<(&Path, TraceFacts)> = Vec::new();
    let mut boot = None;
    let mut latest = 0;
    let mut system = SystemFacts::default();
    let lengths = options.inputs.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len());
    let (budget, own) = (Budget::for_inputs(lengths.sum()), Budget::unlimited());
    // The system's clocks come first: it has more snapshots.
    let mut inputs: Vec<_> = options.inputs.iter().zip(kinds).collect();
    inputs.sort_by_key(|(_, kind)| **kind == FileKind::Recording);
    for (path, kind) in inputs {
        let from_us = *kind == FileKind::Recording;
        let mut walk = Walk::new(path, out, if from_us { &own } else { &budget }, &mut latest);
        match kind {
            FileKind::Recording => {
                warnings.extend(write_recording(options, &mut maps, path, &system, &mut walk)?)
            }
            FileKind::PerfettoTrace => walk.all(unpacked(path, &budget)?)?,
            kind => {
                if *kind != FileKind::ChromeTrace
                    && let Some(instead) = kind.instead_of("merge", path)
                {
                    bail!(instead);
                }
                bail!(
                    "{} is not a Perfetto trace, and only those can be merged into one: write a .tar, which holds traces of all kinds",
                    path.display()
                )
            }
        }
        let (mut facts, found) = walk.finish()?;
        warnings.extend(found.iter().map(ToString::to_string));
        if !from_us {
            system.extend(std::mem::take(&mut facts.system));
        }
        for (other, known) in &walked {
            let Some(track) = facts.tracks.intersection(&known.tracks).next() else { continue };
            let (one, two) = (other.display(), path.display());
            if let Some(Run { pid, .. }) = facts.runs.intersection(&known.runs).next() {
                bail!("{one} and {two} are of the same run of pid {pid}, {LEAVE_OUT}");
            }
            bail!(
                "{one} and {two} both have a track with the number {track}, so they would become one: export them again with \
                 --merge-safe, or write a .tar"
            );
        }
        check_boot(&mut boot, path, &facts, &mut warnings);
        walked.push((path, facts));
    }
    Ok(warnings)
}

/// Archives all files unchanged, with a manifest that relates their clocks.
fn archive(options: &Options, kinds: &[FileKind], mut out: &File) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut maps = MethodMaps::new(options.method_map.as_deref(), options.mapping.as_deref())?;
    let mut names: Vec<String> = Vec::new();
    for (i, (path, kind)) in options.inputs.iter().zip(kinds).enumerate() {
        names.push(tar::member_name(path, *kind == FileKind::Recording, i, &names));
    }
    // Perfetto traces contain their clocks. A JSON trace has none; those of anrscope are in microseconds of CLOCK_BOOTTIME.
    let reference = kinds.iter().position(|kind| *kind != FileKind::ChromeTrace);
    let files: Vec<_> = names
        .iter()
        .zip(kinds)
        .map(|(name, kind)| match reference {
            Some(at) if *kind == FileKind::ChromeTrace => {
                warnings.push(format!("{name} is JSON: its times are taken as microseconds since boot"));
                let sync_to = json!({"file": names[at], "clock": "BOOTTIME"});
                json!({"path": name, "clocks": {"sync_to": sync_to, "offset_ns": 0}})
            }
            _ => json!({"path": name}),
        })
        .collect();
    let manifest = json!({"version": 1, "trace_time": {"clock": "BOOTTIME"}, "files": files});
    // Perfetto recognises the manifest by its first bytes.
    let manifest = format!("{{\"perfetto_manifest\":{manifest}}}\n");
    out.write_all(&tar::header("perfetto_manifest.json", manifest.len() as u64)?)?;
    out.write_all(manifest.as_bytes())?;
    out.write_all(tar::padding(manifest.len() as u64))?;

    for ((path, kind), name) in options.inputs.iter().zip(kinds).zip(&names) {
        let place = out.stream_position().context("an archive can only be written to a file")?;
        out.write_all(&[0; tar::BLOCK])?;
        if *kind == FileKind::Recording {
            warnings.extend(write_recording(options, &mut maps, path, &SystemFacts::default(), out)?);
        } else {
            let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            io::copy(&mut file, &mut out).with_context(|| format!("cannot copy {}", path.display()))?;
        }
        let end = out.stream_position()?;
        let length = end - place - tar::BLOCK as u64;
        out.seek(SeekFrom::Start(place))?;
        out.write_all(&tar::header(name, length)?)?;
        out.seek(SeekFrom::Start(end))?;
        out.write_all(tar::padding(length))?;
    }
    out.write_all(&[0; 2 * tar::BLOCK])?;
    Ok(warnings)
}
