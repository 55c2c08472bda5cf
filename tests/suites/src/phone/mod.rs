//! Main hangs for a reason that is not main: other threads of the app, other processes, a limit, the storage, the memory, the collector,
//! a freezer, a debugger, the clock. Does the report name the reason? And does it never blame the phone for a main that is busy itself?
//!
//! Nothing is simulated but Android's classes: the reasons are made with this kernel's schedulers, control groups, signals, loop devices
//! and ptrace. Those that the machine does not allow are named and left out. Without arguments a few; `scripts/prove phone` runs all.

mod conditions;
mod groups;
mod plan;
mod storage;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{self, Ended, Names, Suite, Words};
use crate::phone::conditions::{Machine, Prepared};
use crate::phone::plan::{Case, Reason};
use crate::steps;
use test_support::library::library;
use test_support::program;
use test_support::temp_dir::TempDir;

pub(crate) const SUITE: Suite = Suite {
    name: "phone",
    usage: "phone [--full] [--seeds N] [--busy N] [--first N] [--keep] [REASON...]
    --full    50 cases of each reason and 600 busy mains; 95 % must be answered right, and at most 1 % of the busy
              mains may be called the phone's. Without it a few cases, each of which gets a second chance
    --seeds   cases of each reason
    --busy    mains that are busy themselves
    --first   the number of the first case of each reason; 0 without it
    --keep    recordings stay in the directory that is printed
    REASON    own-threads other-processes cpu-limit background own-storage others-storage memory collector freezer
              stop-signal debugger clock busy; all without one",
    run,
};

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
    names: Names,
}

/// Reasons of the quick form: those that the load of the machine cannot blur, and that need no privilege.
const QUICK: [&str; 6] = ["own-threads", "other-processes", "collector", "stop-signal", "clock", "busy"];

fn options(words: &mut Words) -> Result<Options, String> {
    let mut options =
        Options { full: false, seeds: 0, busy: 0, first: 0, keep: false, names: Names::default() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => options.full = true,
            "--seeds" => options.seeds = words.number()?,
            "--busy" => options.busy = words.number()?,
            "--first" => options.first = words.number()?,
            "--keep" => options.keep = true,
            _ => options.names.add(word)?,
        }
    }
    let (seeds, busy) = if options.full { (50, 600) } else { (1, 1) };
    if options.seeds == 0 && options.busy == 0 {
        (options.seeds, options.busy) = (seeds, busy);
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
    let answer = &steps::report(&file, None)["answer"];
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

fn reasons(options: &Options) -> Result<Vec<Reason>, String> {
    let is_usual =
        |reason: &Reason| options.full || !options.names.is_empty() || QUICK.contains(&reason.word());
    let usual = Reason::NOT_MAIN.into_iter().chain([Reason::Busy]).filter(is_usual);
    options.names.choose(&SUITE, usual, |reason| reason.word().to_owned())
}

/// The cases of these reasons, and a line for each reason that this machine cannot make.
fn cases(options: &Options, reasons: &[Reason], machine: &Machine) -> (Vec<Case>, Vec<String>) {
    let (mut cases, mut left_out) = (Vec::new(), Vec::new());
    for reason in reasons.iter().copied() {
        let count = if reason == Reason::Busy { options.busy } else { options.seeds };
        let seeds = options.first..options.first.saturating_add(count);
        match machine.lacks(reason) {
            Some(why) => left_out.push(format!("{}: {why}", reason.word())),
            None => cases.extend(seeds.map(|seed| Case::new(reason, seed, machine.cpus))),
        }
    }
    (cases, left_out)
}

fn run(words: &mut Words) -> Result<Ended, String> {
    let options = options(words)?;
    let reasons = reasons(&options)?;
    let directory = TempDir::new();
    let machine = Machine::new(&directory);
    let (cases, left_out) = cases(&options, &reasons, &machine);
    let library = library(&directory);
    let run = |case: &&Case| {
        settled(&options, || {
            let file = recorded(&machine, case, &library, &directory);
            (judged(case, file.clone()), file)
        })
    };
    let mut costs = (0, 0);
    let mut ended = |case: &&Case, result: Option<(Judged, Result<PathBuf, String>)>| {
        let (judged, file) = result.unwrap_or_else(|| {
            let failed = Err("the case itself failed".to_owned());
            (judged(case, failed.clone()), failed)
        });
        let mark = if judged.is_right() { "ok  " } else { "NOT " };
        println!("{mark} {:<22} {:<20} {}", judged.name, judged.cause, judged.finding);
        if let Ok(file) = file {
            add_costs(&file, &mut costs);
            if options.keep || !judged.is_right() {
                println!("     {}", file.display());
            } else {
                let _ = std::fs::remove_dir_all(file.parent().unwrap());
            }
        }
        judged
    };
    let (side_by_side, alone): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.leaves_the_machine_idle());
    let mut found = harness::each(1, &alone, run, &mut ended);
    found.extend(harness::each(LANES, &side_by_side, run, &mut ended));
    Ok(result(&options, &found, &left_out, costs))
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

fn result(options: &Options, found: &[Judged], left_out: &[String], (sum, polls): (u64, u64)) -> Ended {
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
    let figure = format!(
        "{right} of {} right, {blamed} of {} busy mains called the phone's, a poll took {mean} us (mean of {polls})",
        others.len(),
        busy.len()
    );
    let (claim, most) = if options.full { (95, 1) } else { (100, 0) };
    let good = right * 100 >= others.len() as u64 * claim && blamed * 100 <= busy.len() as u64 * most;
    Ended::claim(good, figure)
}
