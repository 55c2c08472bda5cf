//! `anrscope open`: shows a trace in ui.perfetto.dev.
//!
//! The page fetches the trace from 127.0.0.1:9001, the only plain address that its security policy allows. The server gives the file
//! to that page only: it checks the request's origin and host, so that no other page can read the file, not even one whose host name
//! resolves to 127.0.0.1. Programs of other users on this machine reach the port and send no origin: the address has a secret part.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::answer::Conclusion;
use anyhow::{Context, bail};
use exporter::{FileSource, Report};
use trace_format::section::SectionKind;

use crate::cleanup;
use crate::export;
use crate::file_kind::FileKind;
use crate::recordings::{MethodMaps, Recordings};
use crate::scratch::Scratch;

mod http;
mod link;
mod port_owner;

/// The only port that the page may fetch from.
const PORT: u16 = 9001;

/// Open a trace in ui.perfetto.dev, at what hung
///
/// The browser loads the trace from this machine; it goes nowhere else. The program serves it to that page once, and then ends. A
/// recording is exported first.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # A recording: selects its last ANR or hang and expands its process.
    anrscope open app.anrscope

    # Zoom to the ANR.
    anrscope open app.anrscope --anr

    # Any trace. The hang is found if its recording, app.anrscope, is beside it.
    anrscope open app.pftrace

    # On a machine without a browser: open the address on another one, with
    # ssh -L 9001:127.0.0.1:9001 MACHINE running.
    anrscope open app.pftrace --print-url

Exit status:
    0  the page fetched the trace
    1  there is no such trace, the port is taken, or no page fetched it in time
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// A trace (.pftrace, .json, .json.gz) or a recording (.anrscope)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Zoom to the last ANR or hang
    #[arg(long)]
    anr: bool,
    /// Print the address instead of opening a browser
    #[arg(long)]
    print_url: bool,
    /// Use another port, for your own page that may fetch from it
    #[arg(long, hide = true, default_value_t = PORT)]
    port: u16,
    /// How many seconds to wait for the page
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: u64,
    /// The method map of the build, or a directory of maps, for a recording [default: NAME.methodMapping.txt or methodMapping.txt beside it, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Print only errors and warnings
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the subcommand.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let kind = FileKind::of(&options.file)
        .with_context(|| format!("cannot read {}: name an existing trace", options.file.display()))?;
    if let Some(instead) = kind.instead_of("open", &options.file).filter(|_| kind != FileKind::Recording) {
        bail!(instead);
    }
    let is_recording = kind == FileKind::Recording;
    // Before the export, which may take a minute.
    let listener = listen(options.port)?;
    let mut scratch = None;
    let (path, view) = if is_recording {
        let recordings = recordings(&options.file, options.method_map.as_deref())?;
        let directory = Scratch::create().context("cannot create a directory for temporary files")?;
        let path = directory.path().join("trace.pftrace");
        let summary = export::write(&recordings, &path)?;
        crate::terminal::warn_all(&summary.warnings)?;
        scratch = Some(directory);
        (path, view(&recordings)?)
    } else {
        (options.file.clone(), view_by_recording(&options.file))
    };
    if options.anr && is_recording && view.hang.is_none() {
        writeln!(crate::terminal::stderr(), "warning: there is no ANR in {}", options.file.display())?;
    }
    let file = FileSource::open(&path)
        .with_context(|| format!("cannot read {}: name an existing trace", path.display()))?;
    let name = format!("{}/{}", secret(), served_name(&options.file, is_recording));
    let url = link::to_page(&format!("http://127.0.0.1:{}/{name}", options.port), options.anr, &view);
    if options.print_url {
        let mut stdout = crate::terminal::stdout();
        writeln!(stdout, "{url}").and_then(|()| stdout.flush())?;
    } else if let Err(error) = browse(&url) {
        writeln!(crate::terminal::stderr(), "cannot start a browser ({error}); open this address:\n{url}")?;
    }
    let end = Instant::now() + Duration::from_secs(options.wait);
    let served = http::serve(&listener, &name, file, end)?;
    drop(scratch);
    if !served {
        bail!(
            "the page did not fetch the trace within {} s: open the address while this runs, or wait longer with --wait",
            options.wait
        );
    }
    if !options.quiet {
        writeln!(crate::terminal::stderr(), "the page fetched {}", options.file.display())?;
    }
    Ok(())
}

fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        if error.kind() != io::ErrorKind::AddrInUse {
            return anyhow::Error::new(error).context(format!("cannot listen on 127.0.0.1:{port}"));
        }
        let owner = port_owner::of(port);
        let who = owner.map_or_else(
            || format!("another program (to find it: {})", port_owner::COMMAND),
            |(pid, name)| format!("{name} (pid {pid})"),
        );
        anyhow::anyhow!(
            "127.0.0.1:{port} is in use by {who}: end it; ui.perfetto.dev fetches from no other port. Or drop the file on \
             the page"
        )
    })
}

fn recordings(file: &Path, method_map: Option<&Path>) -> anyhow::Result<Recordings> {
    let mut maps = MethodMaps::new(method_map, None)?;
    Recordings::open(&[file.to_owned()], &mut maps)
}

/// What to show of a trace of these recordings.
fn view(recordings: &Recordings) -> anyhow::Result<link::View> {
    let mut view = link::View::default();
    for input in recordings.inputs() {
        let report = Report::build(input.file, input.recording, input.map)?;
        let trace = (report.first, report.end);
        let place = |since, until, is_anr| link::Place { since, until, is_anr, trace };
        let anr = report.anrs.last().map(|anr| place(anr.since, anr.detected, true));
        let span = report.answer.span.filter(|_| report.answer.conclusion != Conclusion::NoHang);
        let hang = span.map(|span| place(span.since, span.since.saturating_add(span.duration), false));
        let is_long =
            input.recording.sections().iter().any(|section| section.kind == Some(SectionKind::DumpText));
        view = link::View { process: Some(report.process), is_long, hang: anr.or(hang) };
    }
    Ok(view)
}

/// What to show of a trace whose recording is beside it, as other subcommands leave it. Failures are ignored: the trace opens without
/// a view.
fn view_by_recording(trace: &Path) -> link::View {
    let recording = trace.with_extension("anrscope");
    if FileKind::of(&recording).is_ok_and(|kind| kind == FileKind::Recording) {
        recordings(&recording, None).and_then(|recordings| view(&recordings)).unwrap_or_default()
    } else {
        link::View::default()
    }
}

/// 128 random bits, from the standard library's keys of hash maps.
fn secret() -> String {
    let word = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", word(), word())
}

/// The file's own name without characters that need escapes: the page shows it.
fn served_name(file: &Path, is_recording: bool) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let mut name: String = name.chars().map(plain).collect();
    if is_recording {
        name.push_str(".pftrace");
    }
    name
}

/// Opens `url` in the default browser.
fn browse(url: &str) -> io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        // `start` would interpret the & in it.
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    let status =
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
}
