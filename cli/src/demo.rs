//! `anrscope demo`: makes an app hang, kills it during the hang, and shows what was recorded.

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

use anyhow::Context as _;
use clap::Args;

use crate::cleanup;
use crate::output;
use files::Files;

/// Make an app hang as in an ANR, and turn its recording into a trace
///
/// Starts a process whose main thread runs a Looper with messages and 60 Hz frames, beside three workers. Then main waits for a
/// lock that a worker never releases. When the hang is 5 s old the process gets SIGQUIT and is listed as not responding, as on
/// Android; in the end it is killed. The trace is made of what is on disk by then.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  anrscope demo                            hang for 8 s; write anrscope-out/demo.pftrace and more
  anrscope demo --stall 6 --out /tmp/demo  a shorter hang, another directory
  anrscope demo --stall 0                  the same app without a hang: no ANR

Files in the directory: demo.pftrace and demo.json (open either in ui.perfetto.dev), demo.anrscope (the
recording), methodMapping.txt (the names) and, on Linux, demo.log (the app's own log, written without the
recorder, to check the trace against).

Exit status: 0 done, 1 failed, 2 usage.")]
pub(crate) struct Options {
    /// Output directory; it is created if needed, and files of an earlier demo in it are replaced
    #[arg(long, short, value_name = "DIR", default_value = "anrscope-out")]
    out: PathBuf,
    /// How long main hangs before the kill, in seconds; 0 for no hang. SIGQUIT comes at 5 s
    #[arg(long, value_name = "SECONDS", default_value_t = 8.0, value_parser = seconds)]
    stall: f64,
    /// Write the files and print only errors
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
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot create the directory {}", options.out.display()))?;
    let files = Files::in_directory(&options.out);
    files.remove()?;
    // An incomplete demo is removed.
    files.all().into_iter().for_each(cleanup::add);
    let result = record(&options, &files).and_then(|()| show::write(&files, options.quiet));
    if result.is_err() {
        let _ = files.remove();
    }
    files.all().into_iter().for_each(cleanup::forget);
    result
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
            "The recorder does not run on this system: this recording of a hang is synthetic."
        )?;
        output::write(&files.recording, &synthetic::recording(options.stall, map_id))
    }
}
