//! Runs the cases and judges the reports.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::conditions::{Machine, Prepared};
use crate::plan::{Case, Reason};
use test_support::library::library;
use test_support::program;
use test_support::temp_dir::TempDir;

const USAGE: &str = "phone [--full] [--seeds N] [--busy N] [--first N] [--keep] [REASON...]
    --full    50 cases of each reason and 600 busy mains; 95 % must be answered right, and at most 1 % of the busy
              mains may be called the phone's. Without it a few cases, each of which gets a second chance
    --seeds   cases of each reason
    --busy    mains that are busy themselves
    --first   the number of the first case of each reason; 0 without it
    --keep    recordings stay in the directory that is printed
    REASON    own-threads other-processes cpu-limit background own-storage others-storage memory collector freezer
              stop-signal debugger clock busy; all without one";

/// A case that has not ended after this is killed.
const MAX_RUN: Duration = Duration::from_secs(60);

/// How many cases run at once that leave the machine idle.
const LANES: usize = 3;

struct Options {
    full: bool,
    seeds: u64,
    busy: u64,
    first: u64,
    keep: bool,
    reasons: Vec<String>,
}

/// Reasons of the quick form: those that the load of the machine cannot blur, and that need no privilege.
const QUICK: [&str; 6] = ["own-threads", "other-processes", "collector", "stop-signal", "clock", "busy"];

fn options() -> Result<Options, String> {
    let mut options = Options { full: false, seeds: 0, busy: 0, first: 0, keep: false, reasons: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = |what: &str| {
            let word = words.next().ok_or(format!("{what} needs a number"))?;
            word.parse().map_err(|_| format!("{word:?} is no number"))
        };
        match word.as_str() {
            "--full" => options.full = true,
            "--seeds" => options.seeds = number("--seeds")?,
            "--busy" => options.busy = number("--busy")?,
            "--first" => options.first = number("--first")?,
            "--keep" => options.keep = true,
            word if word.starts_with('-') => return Err(format!("unknown option {word}")),
            reason => options.reasons.push(reason.to_owned()),
        }
    }
    let (seeds, busy) = if options.full { (50, 600) } else { (1, 1) };
    if options.seeds == 0 && options.busy == 0 {
        (options.seeds, options.busy) = (seeds, busy);
    }
    if !options.full && options.reasons.is_empty() {
        options.reasons = QUICK.map(str::to_owned).to_vec();
    }
    Ok(options)
}

/// A case's outcome.
struct Judged {
    reason: Reason,
    name: String,
    cause: String,
    finding: String,
}

impl Judged {
    fn is_right(&self) -> bool {
        self.cause == self.reason.cause()
    }

    /// Whether a busy main was called the phone's: any of the reasons that are not main.
    fn blames_the_phone(&self) -> bool {
        Reason::NOT_MAIN.iter().any(|reason| reason.cause() == self.cause) || self.cause == "cpu-starvation"
    }
}

/// Runs a case and returns the recording.
fn recorded(machine: &Machine, case: &Case, library: &Path, directory: &TempDir) -> Result<PathBuf, String> {
    let prepared = Prepared::new(machine, case, directory);
    let mut java = test_support::android::Case::new("PhoneLife").named(&case.name()).library(library);
    let stacks = format!("stacks={}", u8::from(case.stacks));
    let words = [
        case.task,
        &case.cpu_ms.to_string(),
        &case.ms.to_string(),
        prepared.file.to_str().unwrap(),
        &case.encoders.to_string(),
        &case.writers.to_string(),
        if case.signal { "signal" } else { "timer" },
        // Short hangs, so that many fit into an hour.
        "anr_ms=2000",
        "lag_ms=1000",
        &stacks,
    ];
    java = words.into_iter().fold(java, test_support::android::Case::word);
    // The collector in the harness's command is another one.
    let mut command = java.command();
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut fresh = std::process::Command::new("java");
    let own = |word: &std::ffi::OsStr| {
        word.to_str().is_some_and(|word| word.starts_with("-XX:+Use") || word.starts_with("-Xmx"))
    };
    fresh.args(["-Xmx256m"]).args(&case.jvm).args(arguments.iter().filter(|word| !own(word)));
    fresh.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command = fresh;
    program::with_default_signals(&mut command);
    prepared.command(&mut command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("java: run scripts/test, which installs a JDK");
    let pid = child.id();
    prepared.started(pid);
    let (send, lines) = std::sync::mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let end = Instant::now() + MAX_RUN;
    let mut active = None;
    let mut printed = Vec::new();
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line == "hangs" => active = Some(prepared.hangs(pid)),
            // The machine is left in peace for the last poll and the reports.
            Ok(line) if line.starts_with("took ") => drop(active.take()),
            Ok(line) => printed.push(line),
            Err(_) => break,
        }
    }
    drop(active);
    // One that has ended is no fault.
    if Instant::now() >= end {
        let _ = child.kill();
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let files: Vec<_> = std::fs::read_dir(java.directory())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let file = files.into_iter().find(|file| file.extension().is_some_and(|kind| kind == "anrscope"));
    file.ok_or_else(|| {
        format!("no recording; {}: {printed:?} {}", output.status, String::from_utf8_lossy(&output.stderr))
    })
}

fn judged(case: &Case, file: Result<PathBuf, String>) -> Judged {
    let name = case.name();
    let of =
        |cause: String, finding: String| Judged { reason: case.reason, name: name.clone(), cause, finding };
    let file = match file {
        Ok(file) => file,
        Err(error) => return of("failed".to_owned(), error),
    };
    let shown = program::run(["report", "--json", file.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&shown.stdout).unwrap_or_default();
    let answer = &report["reports"][0]["answer"];
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    of(text(&answer["cause"]["id"]), text(&answer["finding"]))
}

/// Adds what the polls of a recording took, in µs, and their number.
fn add_costs(file: &Path, (sum, polls): &mut (u64, u64)) {
    use trace_format::section::SectionKind;
    use trace_format::sections::system_state::{Quantity, SystemState};
    let Ok(recording) = trace_format::Recording::open(std::fs::read(file).unwrap_or_default()) else {
        return;
    };
    for payload in test_support::android::sections(&recording, SectionKind::SystemState) {
        let cost = SystemState::parse(&payload).and_then(|poll| poll.get(Quantity::Cost));
        if let Some(cost) = cost.and_then(|cost| u64::try_from(cost).ok()).filter(|cost| *cost > 0) {
            *sum += cost / 1000;
            *polls += 1;
        }
    }
}

pub(crate) fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let directory = TempDir::new();
    let library = library(&directory);
    let machine = Machine::new(&directory);
    let wanted = |reason: Reason| {
        options.reasons.is_empty() || options.reasons.iter().any(|word| word == reason.word())
    };
    let seeds = |count: u64| options.first..options.first.saturating_add(count);
    let mut cases = Vec::new();
    let mut left_out = Vec::new();
    for reason in Reason::NOT_MAIN.into_iter().filter(|reason| wanted(*reason)) {
        match machine.lacks(reason) {
            Some(why) => left_out.push(format!("{}: {why}", reason.word())),
            None => cases.extend(seeds(options.seeds).map(|seed| Case::new(reason, seed, machine.cpus))),
        }
    }
    let busy = if wanted(Reason::Busy) { options.busy } else { 0 };
    cases.extend(seeds(busy).map(|seed| Case::new(Reason::Busy, seed, machine.cpus)));
    let outcome = Mutex::new((Vec::new(), (0, 0)));
    let run = |case: &Case| {
        let (judged, file) = settled(&options, || {
            let file = recorded(&machine, case, &library, &directory);
            (judged(case, file.clone()), file)
        });
        let (found, costs) = &mut *outcome.lock().expect("a lane that has not panicked");
        let mark = if judged.is_right() { "ok  " } else { "NOT " };
        println!("{mark} {:<22} {:<20} {}", judged.name, judged.cause, judged.finding);
        if let Ok(file) = file {
            add_costs(&file, costs);
            if options.keep || !judged.is_right() {
                println!("     {}", file.display());
            } else {
                let _ = std::fs::remove_dir_all(file.parent().unwrap());
            }
        }
        found.push(judged);
    };
    let (side_by_side, alone): (Vec<_>, Vec<_>) =
        cases.iter().partition(|case| case.leaves_the_machine_idle());
    alone.into_iter().for_each(run);
    let next = Mutex::new(side_by_side.into_iter());
    let take = || next.lock().expect("a lane that has not panicked").next();
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| std::iter::from_fn(take).for_each(run));
        }
    });
    let (found, costs) = outcome.into_inner().expect("a lane that has not panicked");
    report(&options, &found, &left_out, costs)
}

/// Runs a case; a second time if tests beside it may have made another reason.
fn settled<T>(options: &Options, mut run: impl FnMut() -> (Judged, T)) -> (Judged, T) {
    let (judged, file) = run();
    if options.full || judged.is_right() {
        return (judged, file);
    }
    println!("again {} {} {}", judged.name, judged.cause, judged.finding);
    run()
}

fn report(options: &Options, found: &[Judged], left_out: &[String], (sum, polls): (u64, u64)) -> ExitCode {
    let mut by_reason: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for judged in found {
        let row = by_reason.entry(judged.reason.word()).or_default();
        *row = (row.0 + u64::from(judged.is_right()), row.1 + 1);
    }
    println!("\n| reason | right | of |\n| --- | --- | --- |");
    by_reason.iter().for_each(|(reason, (right, all))| println!("| {reason} | {right} | {all} |"));
    left_out.iter().for_each(|line| println!("not run: {line}"));
    let (busy, others): (Vec<_>, Vec<_>) = found.iter().partition(|judged| judged.reason == Reason::Busy);
    let right = others.iter().filter(|judged| judged.is_right()).count() as u64;
    let blamed = busy.iter().filter(|judged| judged.blames_the_phone()).count() as u64;
    let mean = sum / polls.max(1);
    println!(
        "{right} of {} right, {blamed} of {} busy mains called the phone's, a poll took {mean} us (mean of {polls})",
        others.len(),
        busy.len()
    );
    let (claim, most) = if options.full { (95, 1) } else { (100, 0) };
    let good = right * 100 >= others.len() as u64 * claim && blamed * 100 <= busy.len() as u64 * most;
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
