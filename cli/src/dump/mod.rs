//! `anrscope dump`: analyses thread dumps.

mod groups;
mod inputs;

use std::io::{self, Write};
use std::path::PathBuf;

use answers::dump::{Dump, NativeSymbols};
use answers::dump_report::{Groups, PageOptions, write_json};
use answers::retrace::Mapping;
use anyhow::bail;

use crate::output;
use crate::symbols;
use crate::terminal::{counted, plain, warn};

/// Analyse a thread dump: what main does, who owns the locks it waits for, deadlocks
///
/// Reads what ART writes on SIGQUIT (/data/anr), ApplicationExitInfo traces, bug reports (.zip), native dumps of debuggerd, logcat,
/// excerpts from Play Console, Crashlytics, Sentry, web pages and mail, and dumps of a JVM (jstack, kill -3, jcmd) and of
/// Android Studio. The format is detected from the text, compressed with gzip or not.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # One page: what hung. With - it reads stdin.
    adb shell cat /data/anr/anr_2026-01-01-10-00-00-000 | anrscope dump -

    # With the names of the source.
    anrscope dump traces.txt --mapping app/build/outputs/mapping/release/mapping.txt

    # Native frames with function, file and line: the directory of the unstripped libraries.
    anrscope dump traces.txt --symbols app/build/intermediates/merged_native_libs/release

    # The full stacks of some threads.
    anrscope dump traces.txt --thread OkHttp

    # All dumps of a bug report, the newest ANR first.
    adb bugreport && anrscope dump bugreport-*.zip

    # What hangs most often: a directory's dumps grouped by main's stack.
    anrscope dump --group anrs/

    # JSON for a script: threads, frames, locks, deadlocks (docs/dump.md).
    anrscope dump traces.txt --json

Exit status:
    0  done, deadlock or not; missing parts of a dump are warnings on stderr
    1  a file cannot be read or is not a dump; or no thread has the requested name
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Dumps, bug reports, or directories of them; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Write the page to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8, to restore the original names
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// A directory of files with symbols, for native frames: unstripped .so, .so.dbg, Breakpad's .sym; may be repeated
    #[arg(long, value_name = "DIR")]
    symbols: Vec<PathBuf>,
    /// Show only threads with this text in their names
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Show all processes, threads and frames
    #[arg(long)]
    all: bool,
    /// Group the dumps by main's stack, the largest group first
    #[arg(long, conflicts_with_all = ["all", "thread"])]
    group: bool,
}

/// Maximum number of dumps without `--group`.
const DUMPS: usize = 1000;

/// Maximum number of libraries without symbols to name.
const MISSING: usize = 10;

/// Runs the subcommand.
pub(crate) fn run(mut options: Options) -> anyhow::Result<()> {
    options.symbols = symbols::checked(options.symbols)?;
    let mut symbols =
        Some(NativeSymbols::new(options.symbols.clone())).filter(|_| !options.symbols.is_empty());
    let mapping = options.mapping.as_deref().map(Mapping::load).transpose()?;
    if let (Some(mapping), Some(file)) = (&mapping, &options.mapping)
        && let (unread, Some(line)) = mapping.unread
    {
        warn(format_args!(
            "{}:{line}: this and {} other lines are not lines of a mapping",
            file.display(),
            unread - 1
        ))?;
    }
    if options.group {
        let mut groups = Groups::default();
        let passed = inputs::each(&options.files, &mut |name, mut dump| {
            name_frames(&name, &mut dump, mapping.as_ref(), symbols.as_mut())?;
            groups.add(&name, &dump);
            Ok(())
        })?;
        warn_of_missing(symbols.as_ref())?;
        return output::page(options.out.as_deref(), options.json, |out| {
            Ok(groups::write(out, groups, &passed, options.json)?)
        });
    }
    // All dumps are read before the first line is printed, so that an error leaves no partial page.
    let mut dumps: Vec<(String, Dump)> = Vec::new();
    inputs::each(&options.files, &mut |name, mut dump| {
        for warning in &dump.warnings {
            warn(format_args!("{name}: {}", crate::terminal::plain(warning)))?;
        }
        name_frames(&name, &mut dump, mapping.as_ref(), symbols.as_mut())?;
        if dumps.len() == DUMPS {
            bail!("there are more than {DUMPS} dumps: use --group to show them by main's stack");
        }
        dumps.push((name, dump));
        Ok(())
    })?;
    warn_of_missing(symbols.as_ref())?;
    if let Some(name) = &options.thread {
        let threads = dumps.iter().flat_map(|(_, dump)| &dump.sections).flat_map(|section| &section.threads);
        let mut names = threads.filter_map(|thread| thread.name.as_deref());
        if !names.any(|thread| thread.contains(name.as_str())) {
            bail!("no thread has {name:?} in its name: run without --thread to see the names");
        }
    }
    output::page(options.out.as_deref(), options.json, |out| write(out, &dumps, &options))
}

/// Restores a dump's names from before R8 if the mapping is of its build, and names its native frames.
fn name_frames(
    name: &str,
    dump: &mut Dump,
    mapping: Option<&Mapping>,
    symbols: Option<&mut NativeSymbols>,
) -> io::Result<()> {
    if let Some(warning) = mapping.and_then(|mapping| dump.retrace_of_build(mapping)) {
        warn(format_args!("{name}: {warning}"))?;
    }
    if let Some(symbols) = symbols {
        dump.name_native_frames(symbols);
    }
    Ok(())
}

/// Names the libraries that have frames and no symbols, those with most frames first.
fn warn_of_missing(symbols: Option<&NativeSymbols>) -> io::Result<()> {
    let Some(symbols) = symbols else { return Ok(()) };
    for note in symbols.notes() {
        warn(plain(&note))?;
    }
    let missing = symbols.missing();
    for library in missing.iter().take(MISSING) {
        let id = match library.build_id.as_str() {
            "" => "no build id".to_owned(),
            id => format!("build id {id}"),
        };
        let frames = counted(usize::try_from(library.frames).unwrap_or(usize::MAX), "frame");
        let text = format!("no symbols for {frames} of {} ({id}): {}", library.path, library.why);
        warn(plain(&text))?;
    }
    if missing.len() > MISSING {
        warn(format_args!("no symbols for {} more libraries", missing.len() - MISSING))?;
    }
    Ok(())
}

fn write(out: &mut dyn Write, dumps: &[(String, Dump)], options: &Options) -> anyhow::Result<()> {
    if options.json {
        let named: Vec<(String, &Dump)> = dumps.iter().map(|(name, dump)| (name.clone(), dump)).collect();
        write_json(&named, options.thread.as_deref(), &mut *out)?;
        writeln!(out)?;
    } else {
        let page = PageOptions { all: options.all, thread: options.thread.clone() };
        for (number, (name, dump)) in dumps.iter().enumerate() {
            if dumps.len() > 1 {
                writeln!(out, "{}== {name}", if number > 0 { "\n" } else { "" })?;
            }
            let mut text = String::new();
            dump.write_page(&mut text, &page)?;
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}
