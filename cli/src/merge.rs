//! `anrscope merge`: recordings and traces of the same device on one time line.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use exporter::{ExportOptions, export};
use serde_json::json;

use crate::cleanup;
use crate::output::{self, Output};
use crate::recordings::Recordings;
use crate::terminal::counted;

mod budget;
mod packets;
mod tar;
mod wire;

use budget::{Budget, Metered};
use packets::{Facts, Told, Walk};

/// Join recordings and a trace of the whole system
///
/// A system trace (made by `perfetto` or the developer options) knows the processors and the other processes, a recording
/// what the app did: together they say why main did not run. All must be of one device and of one boot, whose clock they share.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # One file, that every version of Perfetto opens.
    anrscope merge app.anrscope system.perfetto-trace -o both.pftrace

    # An archive with a manifest, for Perfetto 58 and later: each trace stays as it is, whatever its kind.
    anrscope merge app.anrscope system.perfetto-trace -o both.tar

    # Traces that were exported before; for .pftrace they need --merge-safe.
    anrscope export app.anrscope -o app.pftrace --merge-safe
    anrscope merge app.pftrace system.perfetto-trace -o both.pftrace

Exit status:
    0  done; what may not fit together is told on stderr
    1  an input cannot be read or joined, or the output not be written; then there is none
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings (*.anrscope) and Perfetto traces; for a .tar also those that Perfetto can read otherwise
    #[arg(required = true, value_name = "FILE", num_args = 2..)]
    inputs: Vec<PathBuf>,
    /// What to write: .pftrace or .tar
    #[arg(long, short, value_name = "FILE", value_parser = merged_path())]
    out: PathBuf,
    /// The method map of the recordings' build [default: NAME.methodMapping.txt or methodMapping.txt beside each recording NAME.anrscope, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, for a build that was instrumented after them
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Say nothing but errors and warnings
    #[arg(long, short)]
    quiet: bool,
    /// Print what was written as JSON to stdout
    #[arg(long)]
    json: bool,
}

fn is_tar(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tar"))
}

fn merged_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let path = PathBuf::from(text);
        let trace = path.extension().is_some_and(|e| e == "pftrace" || e == "perfetto-trace");
        if trace || is_tar(&path) {
            Ok(path)
        } else {
            Err("the name of a merged trace ends with .pftrace or .tar")
        }
    })
}

/// What a file is, by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Recording,
    Perfetto,
    Gzip,
    Json,
    Other,
}

impl Kind {
    fn of(path: &Path) -> anyhow::Result<Self> {
        let mut head = Vec::new();
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        file.take(64).read_to_end(&mut head).with_context(|| format!("cannot read {}", path.display()))?;
        let text = head.trim_ascii_start();
        Ok(match &head[..] {
            head if head.starts_with(&trace_format::layout::MAGIC) => Self::Recording,
            [0x0A, ..] if !text.starts_with(b"{") && !text.starts_with(b"[") => Self::Perfetto,
            [0x1F, 0x8B, ..] => Self::Gzip,
            _ if text.starts_with(b"{") || text.starts_with(b"[") => Self::Json,
            _ => Self::Other,
        })
    }
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let place = output::new_directory_of(&options.out);
    let warnings = write(&options)?;
    let mut stderr = crate::terminal::stderr();
    for warning in &warnings {
        crate::terminal::warn(warning)?;
    }
    if options.json {
        let bytes = options.out.metadata().map(|metadata| metadata.len()).ok();
        let document = json!({"files": options.inputs.len(), "bytes": bytes, "warnings": warnings});
        let mut stdout = crate::terminal::stdout_of(true);
        writeln!(stdout, "{document:#}")?;
        stdout.flush()?;
    } else if !options.quiet {
        writeln!(stderr, "{} -> {}{place}", counted(options.inputs.len(), "file"), options.out.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Joins files into `out`, whole or not at all; the recordings are read with this map, or else with those beside them. Says
/// what may not fit together.
///
/// # Errors
/// If one of them cannot be read or joined, or `out` not be written.
pub(crate) fn join(
    inputs: Vec<PathBuf>,
    out: &Path,
    method_map: Option<&Path>,
) -> anyhow::Result<Vec<String>> {
    let method_map = method_map.map(Path::to_owned);
    write(&Options { inputs, out: out.to_owned(), method_map, mapping: None, quiet: true, json: false })
}

/// That no file is given twice, under whatever names.
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

fn write(options: &Options) -> anyhow::Result<Vec<String>> {
    check_distinct(&options.inputs)?;
    let kinds = options.inputs.iter().map(|path| Kind::of(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let output = Output::create(&options.out)?;
    let mut warnings = if is_tar(&options.out) {
        archive(options, &kinds, output.file())?
    } else {
        concatenate(options, &kinds, output.file())?
    };
    warnings.dedup();
    output.commit()?;
    Ok(warnings)
}

/// Writes the trace of a recording to `out`, without what the other traces say already, and says what is odd about it.
fn write_recording(
    options: &Options,
    path: &Path,
    told: &Told,
    out: impl Write,
) -> anyhow::Result<Vec<String>> {
    let files = [path.to_owned()];
    let recordings = Recordings::open(&files, options.method_map.as_deref(), options.mapping.as_deref())?;
    let known_anr = recordings.inputs().iter().any(|input| {
        let header = input.recording.header();
        told.has_anr(&header.process_name, header.pid)
    });
    let how = ExportOptions {
        merge_safe: true,
        stdlib_anr: !known_anr,
        known_processes: told.processes.iter().copied().collect(),
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
            .filter(|p| !there(p.file_name()))
        {
            warnings.push(format!(
                "the platform left a profile of this recording's ANR at {}: it is not among the inputs",
                profile.path.escape_debug()
            ));
        }
    }
    Ok(warnings)
}

/// Traces of two boots have nothing to do with each other, though their clocks overlap.
fn check_boot(first: &mut Option<(PathBuf, i128)>, path: &Path, facts: &Facts, warnings: &mut Vec<String>) {
    /// The wall clock is set now and then; a boot takes longer.
    const APART: i128 = 10_000_000_000;
    let Some(booted) = facts.booted else {
        if !facts.has_boottime {
            warnings.push(format!(
                "{} has no CLOCK_BOOTTIME: its times may lie elsewhere than those of the others",
                path.display()
            ));
        }
        return;
    };
    match first {
        Some((other, at)) if (*at - booted).abs() > APART => warnings.push(format!(
            "{} and {} are of different boots of a device, or of two devices: their times do not belong together",
            other.display(),
            path.display()
        )),
        Some(_) => {}
        None => *first = Some((path.to_owned(), booted)),
    }
}

/// A Perfetto trace has neither head nor end: several behind each other are one.
fn concatenate(options: &Options, kinds: &[Kind], out: &File) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut tracks: Vec<(&Path, HashSet<u64>)> = Vec::new();
    let mut boot = None;
    let mut latest = 0;
    let mut told = Told::default();
    let lengths = options.inputs.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len());
    let (budget, own) = (Budget::for_inputs(lengths.sum()), Budget::unlimited());
    // The system's clocks come first: they are told more often.
    let mut inputs: Vec<_> = options.inputs.iter().zip(kinds).collect();
    inputs.sort_by_key(|(_, kind)| **kind == Kind::Recording);
    for (path, kind) in inputs {
        let from_us = *kind == Kind::Recording;
        let mut walk = Walk::new(path, out, if from_us { &own } else { &budget }, &mut latest);
        match kind {
            Kind::Recording => warnings.extend(write_recording(options, path, &told, &mut walk)?),
            Kind::Perfetto | Kind::Gzip => {
                let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
                if *kind == Kind::Gzip {
                    let unpacked = flate2::bufread::MultiGzDecoder::new(BufReader::new(file));
                    walk.all(Metered::new(unpacked, &budget))?;
                } else {
                    walk.all(file)?;
                }
            }
            Kind::Json | Kind::Other => bail!(
                "{} is no Perfetto trace, and only those can be joined into one: write a .tar, which holds traces of all kinds",
                path.display()
            ),
        }
        let mut facts = walk.finish(&mut warnings)?;
        if !from_us {
            told.extend(std::mem::take(&mut facts.told));
        }
        for (other, known) in &tracks {
            if let Some(track) = facts.tracks.intersection(known).next() {
                bail!(
                    "{} and {} both have a track with the number {track}, which would become one: export them again with \
                     --merge-safe, or write a .tar",
                    other.display(),
                    path.display()
                );
            }
        }
        check_boot(&mut boot, path, &facts, &mut warnings);
        tracks.push((path, facts.tracks));
    }
    Ok(warnings)
}

/// All files as they are in one archive, with a manifest that says how their clocks belong together.
fn archive(options: &Options, kinds: &[Kind], mut out: &File) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (i, (path, kind)) in options.inputs.iter().zip(kinds).enumerate() {
        names.push(tar::member_name(path, *kind == Kind::Recording, i, &names));
    }
    // Traces know their clocks. A JSON trace has none; ours is in microseconds of CLOCK_BOOTTIME.
    let reference = kinds.iter().position(|kind| *kind != Kind::Json);
    let files: Vec<_> = names
        .iter()
        .zip(kinds)
        .map(|(name, kind)| match reference {
            Some(at) if *kind == Kind::Json => {
                warnings.push(format!(
                    "{name} is JSON: its times are taken for microseconds since the boot, as ours are"
                ));
                let sync_to = json!({"file": names[at], "clock": "BOOTTIME"});
                json!({"path": name, "clocks": {"sync_to": sync_to, "offset_ns": 0}})
            }
            _ => json!({"path": name}),
        })
        .collect();
    let manifest = json!({"version": 1, "trace_time": {"clock": "BOOTTIME"}, "files": files});
    // The reader knows it by how it begins.
    let manifest = format!("{{\"perfetto_manifest\":{manifest}}}\n");
    out.write_all(&tar::header("perfetto_manifest.json", manifest.len() as u64)?)?;
    out.write_all(manifest.as_bytes())?;
    out.write_all(tar::padding(manifest.len() as u64))?;

    for ((path, kind), name) in options.inputs.iter().zip(kinds).zip(&names) {
        let place = out.stream_position().context("an archive can only be written to a file")?;
        out.write_all(&[0; tar::BLOCK])?;
        if *kind == Kind::Recording {
            warnings.extend(write_recording(options, path, &Told::default(), out)?);
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
