//! `anrscope dump`: thread dumps, answered.

mod groups;
mod inputs;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use exporter::dump::Dump;
use exporter::dump_report::{Groups, PageOptions, write_json};
use exporter::retrace::Mapping;

use crate::output;
use crate::terminal::warn;

/// Read a thread dump: what main does, who holds what it waits for, deadlocks
///
/// What ART writes on SIGQUIT (/data/anr), ApplicationExitInfo's trace text, bug reports (.zip), native dumps of
/// debuggerd, logcat, what the Play Console, Crashlytics, Sentry, web pages and mail make of them; dumps of a JVM
/// (jstack, kill -3, jcmd) and of Android Studio. The form is recognised by the text, packed with gzip or not.
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

    # Everything that a bug report has, the newest ANR first.
    adb bugreport && anrscope dump bugreport-*.zip

    # What hangs most often: the texts of a directory by main's stack.
    anrscope dump --group anrs/

    # For a script: threads, frames, locks, deadlocks (docs/dump.md).
    anrscope dump traces.txt --json

Exit status:
    0  done, deadlock or not; what a dump lacks is a warning on stderr
    1  a file cannot be read, or is no dump; or no thread has the name that was asked for
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Dumps, bug reports, directories of them; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
    /// Write the page to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The mapping.txt of ProGuard or R8: names from before
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Only threads with this in their names
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// All processes, threads and frames
    #[arg(long)]
    all: bool,
    /// Group the texts by main's stack, the largest group first
    #[arg(long, conflicts_with_all = ["all", "thread"])]
    group: bool,
}

/// Dumps that are read at once; more are for `--group`.
const DUMPS: usize = 1000;

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let mapping = options.mapping.as_deref().map(Mapping::load).transpose()?;
    if let (Some(mapping), Some(file)) = (&mapping, &options.mapping)
        && let (unread, Some(line)) = mapping.unread()
    {
        warn(format_args!(
            "{}:{line}: this and {} other lines are none of a mapping",
            file.display(),
            unread - 1
        ))?;
    }
    if options.group {
        let mut groups = Groups::default();
        let passed = inputs::each(&options.files, &mut |name, mut dump| {
            retrace(&name, &mut dump, mapping.as_ref())?;
            groups.add(&name, &dump);
            Ok(())
        })?;
        output::page(options.out.as_deref(), options.json, |out| {
            Ok(groups::write(out, groups, &passed, options.json)?)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    // All of them before the first line, so that an error leaves no half page.
    let mut dumps: Vec<(String, Dump)> = Vec::new();
    inputs::each(&options.files, &mut |name, mut dump| {
        for warning in &dump.warnings {
            warn(format_args!("{name}: {}", crate::terminal::plain(warning)))?;
        }
        retrace(&name, &mut dump, mapping.as_ref())?;
        if dumps.len() == DUMPS {
            bail!("there are more than {DUMPS} dumps: --group shows them by main's stack");
        }
        dumps.push((name, dump));
        Ok(())
    })?;
    if let Some(name) = &options.thread {
        let threads = dumps.iter().flat_map(|(_, dump)| &dump.sections).flat_map(|section| &section.threads);
        let mut names = threads.filter_map(|thread| thread.name.as_deref());
        if !names.any(|thread| thread.contains(name.as_str())) {
            bail!("no thread has {name:?} in its name: see the names without --thread");
        }
    }
    output::page(options.out.as_deref(), options.json, |out| write(out, &dumps, &options))?;
    Ok(ExitCode::SUCCESS)
}

/// Gives a dump its names from before R8, if the mapping is of its build.
fn retrace(name: &str, dump: &mut Dump, mapping: Option<&Mapping>) -> io::Result<()> {
    let Some(mapping) = mapping else { return Ok(()) };
    match dump.r8_map_id().filter(|id| mapping.is_of(id) == Some(false)).map(str::to_owned) {
        Some(id) => warn(format_args!(
            "{name}: its frames are of the build with R8's map id {id}, and the mapping is of another one: it was not \
             used, its names would be wrong"
        )),
        None => {
            dump.retrace(mapping);
            Ok(())
        }
    }
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
            let mut text = Out { out: &mut *out, failed: None };
            if dump.write_page(&mut text, &page).is_err() {
                return Err(text
                    .failed
                    .unwrap_or_else(|| io::Error::other("the page cannot be written"))
                    .into());
            }
        }
    }
    Ok(())
}

/// A page goes to a stream; what fails there is told by its own error.
struct Out<'a> {
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl fmt::Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.failed = Some(error);
            fmt::Error
        })
    }
}
