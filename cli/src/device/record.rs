//! `anrscope device record`: records a running app for a while.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use device::control::{Command, ask};
use device::launch::{component, start};
use device::pull::MAX_RECORDING;
use device::{App, Remote, Stop, SystemTrace, Timeouts};
use serde_json::json;

use super::fetch::{fetch, in_words, map_for};
use super::target::{Target, seconds};
use crate::export;
use crate::merge;
use crate::output::{Output, directory_of};
use crate::recordings::{MethodMaps, Recordings};

/// Record an app until Ctrl-C, then pull and export the recording
///
/// The app always records on its own; this waits, pulls the rings of its processes and exports them. With --system the device's own
/// perfetto records at the same time, and the trace has both on one timeline. If the app is paused, it records
/// until this ends.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Use the app, then press Ctrl-C.
    anrscope device record com.example.app -o scroll.pftrace

    # Start the app and record ten seconds, together with the system's trace.
    anrscope device record com.example.app -o start.pftrace --launch --for 10 --system

Exit status:
    0  done
    1  the app does not run or has no recording, or the device could not be reached
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// The trace to write; the recordings are beside it
    #[arg(long, short, value_name = "FILE", value_parser = export::trace_path())]
    out: PathBuf,
    /// The method map of the build, or a directory of maps [default: methodMapping.txt beside the trace, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Stop after this many seconds
    #[arg(long = "for", visible_alias = "seconds", value_name = "SECONDS", value_parser = seconds)]
    duration: Option<f64>,
    /// Start the app's activity first, in a new process
    #[arg(long)]
    launch: bool,
    /// Also record the system, and merge both; the system's own trace stays in NAME.system.pftrace (Android 9 and later)
    #[arg(long)]
    system: bool,
    /// Print the written files as JSON to stdout
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<()> {
    let app = options.target.app(stop)?;
    let system = options.system.then(|| SystemTrace::start(&app)).transpose()?;
    if options.launch {
        start(&app, &component(&app)?, true)?;
    }
    let before = app.pids()?;
    if before.is_empty() {
        bail!("{} is not running on {}: start it, or use --launch", app.package(), app.device().serial());
    }
    // A paused app is paused again afterwards.
    let was_stopped = send_command(&app, Command::Start)?.is_some_and(|answer| answer == "was paused");
    writeln!(crate::terminal::stderr(), "recording {}: Ctrl-C ends it", app.package())?;
    match options.duration {
        Some(seconds) => drop(stop.sleep(Duration::from_secs_f64(seconds))),
        None => while !stop.sleep(Duration::from_secs(3600)) {},
    }
    // That Ctrl-C ended the recording, not the steps that follow.
    let timeouts = Timeouts { stop: Stop::default(), ..app.device().server().timeouts().clone() };
    let app = App::new(app.device().with_timeouts(timeouts), app.package(), app.user())?;
    if was_stopped {
        send_command(&app, Command::Stop)?;
    }
    // A recording may still be on its way into its file.
    send_command(&app, Command::Flush)?;
    let mut system_trace = None;
    if let Some(system) = system {
        let path = options.out.with_extension("system.pftrace");
        let output = Output::create(&path)?;
        let mut file = output.file();
        system.finish(&mut |bytes| file.write_all(bytes))?;
        output.commit()?;
        system_trace = Some(path);
    }
    let directory = directory_of(&options.out).unwrap_or(Path::new("."));
    let wanted = [before, app.pids()?].concat();
    let mut files = Vec::new();
    for remote in recordings_of(&app, &wanted)? {
        let pulled = fetch(&app, &remote, directory, MAX_RECORDING, options.json)?;
        if !options.json {
            writeln!(crate::terminal::stderr(), "{}", in_words(&pulled, &remote))?;
        }
        files.push(pulled.path);
    }
    let map = map_for(options.method_map.as_deref(), directory);
    let recordings = Recordings::open(&files, &mut MethodMaps::new(map.as_deref(), None)?)?;
    let summary = export::write(&recordings, &options.out)?;
    crate::terminal::warn_all(&summary.warnings)?;
    let mut merged = false;
    if let Some(system) = &system_trace {
        let inputs = files.iter().chain([system]).cloned().collect();
        // A failure of the device's perfetto costs the system's part only: the app's trace is complete without it.
        match merge::join(inputs, &options.out, map.as_deref()) {
            Ok(warnings) => {
                merged = true;
                crate::terminal::warn_all(warnings)?;
            }
            Err(error) => {
                let out = options.out.display();
                crate::terminal::warn(format_args!("{out} lacks the system's trace: {error:#}"))?;
            }
        }
    }
    if options.json {
        let name = |path: &PathBuf| path.display().to_string();
        let document = json!({
            "trace": name(&options.out),
            "recordings": files.iter().map(name).collect::<Vec<_>>(),
            "system": system_trace.as_ref().map(name),
            "merged": merged,
            "slices": summary.counts.slices,
            "anrs": summary.counts.anrs,
        });
        crate::terminal::print_json(&document).context("cannot write to stdout")?;
    } else {
        writeln!(crate::terminal::stderr(), "{} -> {}", export::in_words(&summary), options.out.display())?;
        if let Some(path) = &system_trace {
            let joined = if merged { ", joined with it" } else { "" };
            writeln!(crate::terminal::stderr(), "the system's trace{joined} -> {}", path.display())?;
        }
    }
    Ok(())
}

/// Sends the app a command; returns its answer if it took the command. An app that takes none records all the same.
fn send_command(app: &App, command: Command) -> Result<Option<String>, device::Error> {
    Ok(ask(app, command)?.ok().filter(|answer| answer.done).map(|answer| answer.message))
}

/// The recordings of these processes; the app's other processes have other names and pids.
fn recordings_of(app: &App, pids: &[u32]) -> anyhow::Result<Vec<Remote>> {
    let found = app.recordings_of(pids)?;
    if found.is_empty() {
        let package = app.package();
        bail!("{package} is running but has no recording: run anrscope device doctor {package}");
    }
    Ok(found)
}
