//! `anrscope dump`: a thread dump of Android, answered.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use exporter::dump::{Dump, PageOptions, write_json};
use exporter::retrace::Mapping;

use crate::file_kind::FileKind;

/// Read a thread dump: what main does, who holds what it waits for, dead-locks
///
/// What ART writes on SIGQUIT (/data/anr), ApplicationExitInfo's trace text, native dumps of debuggerd, and
/// what the Play Console, Crashlytics, logcat and mail make of them; packed with gzip or not.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # What hung, on one page. With - it reads stdin.
    adb shell cat /data/anr/anr_2026-01-01-10-00-00-000 | anrscope dump -

    # Under the names of the source.
    anrscope dump traces.txt --mapping app/build/outputs/mapping/release/mapping.txt

    # The whole stacks of some threads.
    anrscope dump traces.txt --thread OkHttp

    # For a script: threads, frames, locks, dead-locks (docs/dump.md).
    anrscope dump traces.txt --json

Exit status:
    0  done, dead-lock or not; what is missing in a dump is told on stderr
    1  a file cannot be read, or is no dump; or no thread has the name that was asked for
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Dumps; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print everything as JSON to stdout
    #[arg(long)]
    json: bool,
    /// The mapping.txt of ProGuard or R8: names from before
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Only threads with this in their names
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// All processes, threads and frames
    #[arg(long)]
    all: bool,
}

/// What to do with a file that is no dump but of a kind that another command takes.
fn instead(file: &Path) -> Option<anyhow::Error> {
    let kind = FileKind::of(file).ok()?;
    kind.instead_of("dump", file).map(anyhow::Error::msg)
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let mapping = options.mapping.as_deref().map(Mapping::load).transpose()?;
    let mut stderr = crate::terminal::stderr();
    if let (Some(mapping), Some(file)) = (&mapping, &options.mapping)
        && let (unread, Some(line)) = mapping.unread()
    {
        writeln!(
            stderr,
            "warning: {}:{line}: this and {} other lines are none of a mapping",
            file.display(),
            unread - 1
        )?;
    }
    // All of them before the first line, so that an error leaves no half page.
    let mut dumps = Vec::new();
    for file in &options.files {
        let mut dump = read(file).map_err(|error| instead(file).unwrap_or(error))?;
        for warning in &dump.warnings {
            writeln!(stderr, "warning: {}: {}", file.display(), crate::terminal::plain(warning))?;
        }
        if let Some(mapping) = &mapping {
            match dump.r8_map_id().filter(|id| mapping.is_of(id) == Some(false)).map(str::to_owned) {
                Some(id) => writeln!(
                    stderr,
                    "warning: {}: its frames are of the build with R8's map id {id}, and the mapping is of another \
                     one: it was not used, its names would be wrong",
                    file.display()
                )?,
                None => dump.retrace(mapping),
            }
        }
        dumps.push((file, dump));
    }
    if let Some(name) = &options.thread {
        let threads = dumps.iter().flat_map(|(_, dump)| &dump.sections).flat_map(|section| &section.threads);
        let mut names = threads.filter_map(|thread| thread.name.as_deref());
        if !names.any(|thread| thread.contains(name.as_str())) {
            bail!("no thread has {name:?} in its name: see the names without --thread");
        }
    }
    let mut stdout = crate::terminal::stdout_of(options.json);
    if options.json {
        let named: Vec<(String, &Dump)> =
            dumps.iter().map(|(file, dump)| (file.display().to_string(), dump)).collect();
        let mut out = io::BufWriter::new(&mut stdout);
        write_json(&named, options.thread.as_deref(), &mut out)?;
        writeln!(out)?;
        out.flush()?;
    } else {
        let page = PageOptions { all: options.all, thread: options.thread };
        for (number, (file, dump)) in dumps.iter().enumerate() {
            if dumps.len() > 1 {
                writeln!(stdout, "{}== {}", if number > 0 { "\n" } else { "" }, file.display())?;
            }
            let mut out = Out { out: &mut stdout, failed: None };
            if dump.write_page(&mut out, &page).is_err() {
                return Err(out
                    .failed
                    .unwrap_or_else(|| io::Error::other("the page cannot be written"))
                    .into());
            }
        }
    }
    stdout.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> anyhow::Result<Dump> {
    if file == Path::new("-") {
        return Ok(Dump::read(Path::new("stdin"), io::stdin().lock())?);
    }
    let meta = std::fs::metadata(file)
        .with_context(|| format!("cannot read {}: name a dump that is there", file.display()))?;
    if meta.is_dir() {
        bail!("{} is a folder: name the dumps in it", file.display());
    }
    Ok(Dump::open(file)?)
}

/// A page goes to a stream; what fails there is told by its own error.
struct Out<'a, W> {
    out: &'a mut W,
    failed: Option<io::Error>,
}

impl<W: Write> fmt::Write for Out<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.failed = Some(error);
            fmt::Error
        })
    }
}
