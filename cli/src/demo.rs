//! `anrscope demo`: makes an ANR, kills the app in the middle of it, and shows what is left.

#[cfg(target_os = "linux")]
pub(crate) mod child;
mod files;
#[cfg(target_os = "linux")]
mod hang;
#[cfg(target_os = "linux")]
mod log;
mod methods;
mod show;
#[cfg(any(test, not(target_os = "linux")))]
mod synthetic;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use crate::cleanup;
use crate::output;
use files::Files;

/// Make an app hang, as an ANR does, and turn what it recorded into a trace.
///
/// Starts a process whose main thread runs a Looper with messages and 60 Hz frames, beside three
/// workers. Then main waits for a lock that a worker does not give back. When the hang is 5 s old the
/// process is sent SIGQUIT and listed as not responding, as Android does, and in the end SIGKILL. The trace is made of what is then
/// on disk.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  anrscope demo                            hang for 8 s; write anrscope-out/demo.pftrace and more
  anrscope demo --stall 6 --out /tmp/demo  a shorter hang, another folder
  anrscope demo --stall 0                  the same app without a hang: no ANR

Files in the folder: demo.pftrace and demo.json (open either in ui.perfetto.dev), demo.anrscope (the
recording), methodMapping.txt (the names) and, on Linux, demo.log (what the app noted of itself by other
means, to hold the trace against).

Exit status: 0 done, 1 failed, 2 usage.")]
pub(crate) struct Options {
    /// Folder to write to; it is made if need be, and files of an earlier demo in it are replaced
    #[arg(long, short, value_name = "DIR", default_value = "anrscope-out")]
    out: PathBuf,
    /// How long main hangs before the kill, in seconds; 0 for no hang. SIGQUIT comes at 5 s
    #[arg(long, value_name = "SECONDS", default_value_t = 8.0, value_parser = seconds)]
    stall: f64,
    /// Write the files, and say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=600.0).contains(&value) => Ok(value),
        _ => Err("a number of seconds from 0 to 600".to_owned()),
    }
}

/// Runs the demo.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot make the folder {}", options.out.display()))?;
    let files = Files::in_folder(&options.out);
    files.remove()?;
    // Half a demo explains nothing.
    files.all().into_iter().for_each(cleanup::add);
    let result = record(&options, &files).and_then(|()| show::write(&files, options.quiet));
    if result.is_err() {
        let _ = files.remove();
    }
    files.all().into_iter().for_each(cleanup::forget);
    result.map(|()| ExitCode::SUCCESS)
}

fn record(options: &Options, files: &Files) -> anyhow::Result<()> {
    let lines = methods::map_lines();
    output::write(&files.method_map, format!("{}\n", lines.join("\n")).as_bytes())?;
    let map_id = trace_format::MapId::from_lines(lines.iter().map(String::as_str));
    #[cfg(target_os = "linux")]
    return hang::record(options.stall, options.quiet, map_id, files);
    #[cfg(not(target_os = "linux"))]
    {
        use std::io::Write as _;
        writeln!(
            crate::terminal::stderr(),
            "This system cannot run the recorder: the hang in this recording is made up."
        )?;
        output::write(&files.recording, &synthetic::recording(options.stall, map_id))
    }
}
