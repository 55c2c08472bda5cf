//! `anrscope device trigger`: asks a running app for a thread dump.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::bail;
use device::control::{Command, ask};
use device::pull::MAX_RECORDING;
use device::{App, Stop};
use serde_json::json;

use super::fetch::{answer, fetch, in_words, incidents_of, map_for};
use super::target::{Target, seconds};
use crate::terminal;

/// Make a running app dump its threads now, and pull the recording with the result
///
/// Asks the app's content provider, which answers while main is blocked, or its broadcast receiver. An app that has neither, or is not
/// debuggable, gets SIGQUIT instead: from run-as, which Android allows for debuggable apps, or from the shell if that is root. The
/// app continues, and ART writes its thread dump as usual.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    anrscope device trigger com.example.app -o now

    # As the system does for an app that does not respond: SIGQUIT from outside, which the app then judges.
    anrscope device trigger com.example.app --anr

    # Only send the request.
    anrscope device trigger com.example.app --no-pull

Exit status:
    0  done
    1  the app is not running or cannot be asked, or it wrote no result in time
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// The directory for recording and trace
    #[arg(long, short, value_name = "DIR", default_value = "anrscope-out")]
    out: PathBuf,
    /// The method map of the build, or a directory of maps [default: methodMapping.txt in the directory, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Send SIGQUIT, as the system does for an ANR, instead of asking the app
    #[arg(long)]
    anr: bool,
    /// Only send the request, and end
    #[arg(long)]
    no_pull: bool,
    /// How many seconds the app may take to write its result
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    wait: f64,
    /// Print the outcome as JSON to stdout instead of the report
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<()> {
    let app = options.target.app(stop)?;
    let package = app.package().to_owned();
    let Some(pid) = app.pids()?.first().copied() else {
        bail!("{package} is not running on {}: start it first", app.device().serial());
    };
    let newest = || app.recordings_of(&[pid]).map(|found| found.into_iter().next());
    let before = if options.no_pull { None } else { newest()? };
    if !options.no_pull && before.is_none() {
        bail!("pid {pid} of {package} has no recording: run anrscope device doctor {package}");
    }
    // Earlier signals do not count.
    let judged = match &before {
        Some(remote) => {
            incidents_of(&fetch(&app, remote, &options.out, MAX_RECORDING, options.json)?.path)?.judged
        }
        None => 0,
    };
    let how = if !options.anr && asked(&app)? {
        "asked"
    } else {
        send(&app, pid)?;
        "SIGQUIT sent to"
    };
    writeln!(terminal::stderr(), "{how} pid {pid} of {package}")?;
    let Some(before) = before else {
        if options.json {
            terminal::print_json(&json!({"pid": pid}))?;
        }
        return Ok(());
    };
    let end = Instant::now() + Duration::from_secs_f64(options.wait);
    let mut polled = before.size;
    let (pulled, remote) = loop {
        // The result is appended, but so are other sections: only the recording's content shows that it is there.
        if let Some(now) = newest()?.filter(|now| now.size > polled) {
            polled = now.size;
            let pulled = fetch(&app, &now, &options.out, MAX_RECORDING, options.json)?;
            if incidents_of(&pulled.path)?.judged > judged {
                break (pulled, now);
            }
        }
        if Instant::now() >= end {
            bail!(
                "pid {pid} wrote nothing about a dump within {} s: it may be stopped or not capture SIGQUIT; \
                 `anrscope device pull` gets what it recorded",
                options.wait
            );
        }
        if stop.sleep(Duration::from_millis(200)) {
            bail!("interrupted: the request was sent; `anrscope device pull` gets the result");
        }
    };
    let map = map_for(options.method_map.as_deref(), &options.out);
    let (trace, text) = answer(&pulled.path, map.as_deref())?;
    if options.json {
        let (recording, trace) = (pulled.path.display().to_string(), trace.display().to_string());
        terminal::print_json(&json!({"pid": pid, "recording": recording, "trace": trace}))?;
    } else {
        let mut stdout = terminal::stdout();
        writeln!(terminal::stderr(), "{}", in_words(&pulled, &remote))?;
        write!(stdout, "{text}")?;
        writeln!(terminal::stderr(), "trace: anrscope open {}", trace.display())?;
        stdout.flush()?;
    }
    Ok(())
}

/// Asks the app to dump its threads; returns whether it did. If not, it is sent the signal.
fn asked(app: &App) -> Result<bool, device::Error> {
    match ask(app, Command::Dump) {
        Ok(answer) => Ok(answer.is_ok_and(|answer| answer.done)),
        // A broadcast waits for main, which may be what is blocked.
        Err(error) if error.is_lost() => Ok(false),
        Err(error) => Err(error),
    }
}

fn send(app: &App, pid: u32) -> anyhow::Result<()> {
    let kill = format!("kill -3 {pid}");
    let mut refusals = Vec::new();
    // Without run-as, only a root shell may do this.
    for command in [app.run_as(&kill), kill] {
        let output = app.device().shell(&command)?;
        if output.code == 0 {
            return Ok(());
        }
        refusals.push(output.message());
    }
    bail!(
        "cannot send a signal to pid {pid} ({}): install a debuggable build, or use a device whose shell is root",
        refusals.join("; ")
    );
}
