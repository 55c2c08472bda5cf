//! `anrscope device startup`: measures how long an app takes to start.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use device::launch::{Launch, component, start, stop as end_app};
use device::pull::MAX_RECORDING;
use device::{App, Stop};
use exporter::facts::{Facts, StartKind, Startup};
use serde_json::{Value, json};

use super::fetch::fetch;
use super::target::{Target, seconds};
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::terminal;

/// Measure an app's cold starts: ActivityManager's figures beside the app's own
///
/// Ends the process before each start. The app's own figure comes from its recording: from process start to the first frame, if the
/// build has the start monitor.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    anrscope device startup com.example.app -n 10

    # An activity other than the launcher's.
    anrscope device startup com.example.app --activity com.example.app/.SearchActivity

Exit status:
    0  done
    1  the app could not be started
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// Number of starts
    #[arg(short, long = "count", value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    n: u32,
    /// The activity [default: the launcher's]
    #[arg(long, value_name = "PACKAGE/CLASS")]
    activity: Option<String>,
    /// How many seconds to wait after each start until the app has written its figures
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    settle: f64,
    /// Print the figures as JSON to stdout
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, stop: &Stop) -> anyhow::Result<()> {
    let app = options.target.app(stop)?;
    let activity = match &options.activity {
        Some(activity) => activity.clone(),
        None => component(&app)?,
    };
    let scratch = Scratch::create()?;
    let progress = Progress::new(!options.json);
    let mut starts: Vec<(Launch, Option<f64>)> = Vec::new();
    for n in 1..=options.n {
        progress.show(|| format!("start {n} of {}", options.n));
        let launch = start(&app, &activity, true)?;
        if stop.sleep(Duration::from_secs_f64(options.settle)) {
            break;
        }
        starts.push((launch, own_figure(&app, scratch.path())?));
    }
    drop(progress);
    end_app(&app)?;
    let total: Vec<f64> = starts.iter().map(|(launch, _)| launch.total.as_secs_f64() * 1e3).collect();
    let own: Vec<f64> = starts.iter().filter_map(|(_, own)| *own).collect();
    if options.json {
        let list: Vec<_> = starts
            .iter()
            .map(|(launch, own)| {
                json!({
                    "state": launch.state,
                    "total_ms": launch.total.as_millis() as u64,
                    "wait_ms": launch.wait.map(|wait| wait.as_millis() as u64),
                    "own_ms": own,
                })
            })
            .collect();
        let document = json!({
            "activity": activity, "starts": list, "total": spread(&total), "own": spread(&own),
        });
        terminal::print_json(&document)?;
    } else {
        let mut stdout = terminal::stdout();
        writeln!(stdout, "{activity}, {} cold starts, ms", starts.len())?;
        writeln!(stdout, "{:>7}{:>8}{:>12}{:>12}  state", "", "am", "am waited", "our own")?;
        for (n, (launch, own)) in starts.iter().enumerate() {
            let wait = launch.wait.map_or("-".into(), |wait| wait.as_millis().to_string());
            let own = own.map_or("-".into(), |own| format!("{own:.1}"));
            let state = launch.state.as_deref().unwrap_or("-");
            writeln!(stdout, "{:>7}{:>8}{wait:>12}{own:>12}  {state}", n + 1, launch.total.as_millis())?;
        }
        let median = |figures: &[f64]| middle(figures).map_or("-".into(), |figure| format!("{figure:.1}"));
        writeln!(stdout, "{:>7}{:>8}{:>12}{:>12}", "median", median(&total), "", median(&own))?;
        stdout.flush()?;
    }
    Ok(())
}

/// Start time of the newest recording's process, ms; `None` if it has no such section.
fn own_figure(app: &App, directory: &Path) -> anyhow::Result<Option<f64>> {
    let found = match app.recordings_of(&app.pids()?) {
        Ok(found) => found,
        Err(error) if error.is_interrupt() || error.is_lost() => return Err(error.into()),
        // The app does not use the library, or its files cannot be read.
        Err(_) => return Ok(None),
    };
    let Some(remote) = found.first() else { return Ok(None) };
    let pulled = fetch(app, remote, directory, MAX_RECORDING, true)?;
    let recording = exporter::open_recording(&pulled.path)?;
    let figure = Facts::of(&recording)?.sections.starts.iter().find_map(figure_of);
    // The next start writes another file; a failure here is removed with the directory.
    let _ = std::fs::remove_file(&pulled.path);
    Ok(figure)
}

/// From the start to the first draw, ms, or else to the end of a cold start.
fn figure_of(start: &Startup) -> Option<f64> {
    let end = start.first_draw.unwrap_or(start.end);
    (start.kind == StartKind::Cold).then(|| (end - start.begin) as f64 / 1e6)
}

fn middle(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

fn spread(figures: &[f64]) -> Value {
    let fold = |by: fn(f64, f64) -> f64| figures.iter().copied().reduce(by);
    json!({"median_ms": middle(figures), "min_ms": fold(f64::min), "max_ms": fold(f64::max)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_few_and_of_many() {
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(middle(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn only_a_cold_start_has_a_figure() {
        let of = |text: &str| figure_of(&Startup::parse(text.as_bytes()).unwrap());
        assert_eq!(of("kind=cold\nbegin=1000000\nend=9000000\nfirst_draw=5000000\n"), Some(4.0));
        assert_eq!(of("kind=cold\nbegin=1000000\nend=9000000\n"), Some(8.0));
        assert_eq!(of("kind=page\nbegin=1\nend=2\n"), None);
    }
}
