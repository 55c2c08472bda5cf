//! `anrscope device watch`: waits for ANRs.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use device::pull::MAX_RECORDING;
use device::{App, Stop};
use serde_json::json;

use super::fetch::{answer, fetch, incidents_of, map_for};
use super::target::{Target, seconds};

/// Wait for an app's ANRs: pull and export each one and print its report
///
/// Polls the app's recordings every few seconds and pulls those that have grown. ANRs from before this was started are not reported.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Until Ctrl-C.
    anrscope device watch com.example.app -o anrs

    # Until the first one, for an hour at most; exit status 1 without an ANR.
    anrscope device watch com.example.app -o anrs --once --for 3600

Exit status:
    0  ended by Ctrl-C or --for; with --once or --count: that many ANRs were found
    1  the device could not be reached; with --once or --count: fewer were found
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// The directory for recordings and traces
    #[arg(long, short, value_name = "DIR", default_value = "anrscope-out")]
    out: PathBuf,
    /// The method map of the build, or a directory of maps [default: methodMapping.txt in the directory, if there is one]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Stop after the first ANR
    #[arg(long)]
    once: bool,
    /// Stop after this many ANRs
    #[arg(long, value_name = "N", conflicts_with = "once", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Stop after this many seconds
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    duration: Option<f64>,
    /// Polling interval in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    interval: f64,
    /// Print a line of JSON for each ANR to stdout instead of the report
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Default)]
struct Polled {
    size: u64,
    modified: u64,
    anrs: usize,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<ExitCode> {
    let end = options.duration.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let app = options.target.app(stop)?;
    let map = map_for(options.method_map.as_deref(), &options.out);
    let mut polled: HashMap<String, Polled> = HashMap::new();
    let mut found = 0;
    let mut first = true;
    // An ANR in the first poll's recordings may have happened while they were pulled.
    let mut at_first = HashSet::new();
    let began = clock_of(&app)?;
    writeln!(
        crate::terminal::stderr(),
        "watching {} on {}: Ctrl-C ends it",
        options.target.package,
        app.device().serial()
    )?;
    while !stop.is_set() && end.is_none_or(|end| Instant::now() < end) {
        let recordings = match app.recordings() {
            Ok(list) => list.recordings,
            Err(error) if error.is_interrupt() => break,
            // The device may be unplugged for a while, or the app reinstalled.
            Err(error) if !first => {
                crate::terminal::warn(error)?;
                stop.sleep(Duration::from_secs_f64(options.interval));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if first {
            at_first = recordings.iter().map(|remote| remote.name.clone()).collect();
            first = false;
        }
        for remote in recordings {
            let before = polled.get(&remote.name).copied();
            let now = Polled { size: remote.size, modified: remote.modified, ..before.unwrap_or_default() };
            if before.is_some_and(|before| (before.size, before.modified) == (now.size, now.modified)) {
                continue;
            }
            let pulled = match fetch(&app, &remote, &options.out, MAX_RECORDING, options.json) {
                Ok(pulled) => pulled,
                Err(error) if error.is_interrupt() => return Ok(ended(options, found)),
                Err(error) => {
                    crate::terminal::warn(error)?;
                    continue;
                }
            };
            // A recording that was cut by the transfer is complete in the next poll.
            let anrs = match incidents_of(&pulled.path) {
                Ok(incidents) => incidents.anrs,
                Err(error) => {
                    crate::terminal::warn(format_args!("{error:#}"))?;
                    continue;
                }
            };
            let known = match (before, began) {
                (Some(before), _) => before.anrs,
                (None, _) if !at_first.contains(&remote.name) => 0,
                (None, Some(began)) => anrs.iter().filter(|at| **at < began).count(),
                (None, None) => anrs.len(),
            };
            let anrs = anrs.len();
            polled.insert(remote.name.clone(), Polled { anrs, ..now });
            if anrs <= known {
                continue;
            }
            found += anrs - known;
            let (trace, text) = answer(&pulled.path, map.as_deref())?;
            let mut stdout = crate::terminal::stdout_of(options.json);
            if options.json {
                writeln!(
                    stdout,
                    "{}",
                    json!({
                        "recording": pulled.path.display().to_string(),
                        "trace": trace.display().to_string(),
                        "anrs": anrs,
                        "new": anrs - known,
                    })
                )?;
            } else {
                writeln!(stdout, "{text}")?;
            }
            stdout.flush()?;
            writeln!(crate::terminal::stderr(), "trace: anrscope open {} --anr", trace.display())?;
            if wanted(options).is_some_and(|wanted| found >= wanted) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        stop.sleep(Duration::from_secs_f64(options.interval));
    }
    Ok(ended(options, found))
}

/// The device's clock, ns since 1970; `None` if the device does not answer with a time.
fn clock_of(app: &App) -> Result<Option<u64>, device::Error> {
    let output = app.device().shell_again("date +%s")?;
    let seconds = output.stdout.trim().parse::<u64>().ok().filter(|_| output.code == 0);
    Ok(seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000)))
}

/// After how many ANRs to stop, if limited.
fn wanted(options: &Options) -> Option<usize> {
    if options.once { Some(1) } else { options.count.map(|count| count as usize) }
}

fn ended(options: &Options, found: usize) -> ExitCode {
    if wanted(options).is_some_and(|wanted| found < wanted) { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
