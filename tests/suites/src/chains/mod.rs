//! Generated programs in Java and Kotlin whose main thread waits for something that does not come: does the report name who must move, and why?
//!
//! Each program is generated together with its label: `labels.jsonl` is made from how a program was built, never from a report.
//! That a label is right is checked without a recorder first, by the stacks that the program prints at its end.
//! Without arguments some programs; `scripts/prove chains` runs all.

mod code;
mod facts;
mod families;
mod judge;
mod kotlin;
mod label;
mod libraries;
mod options;
mod table;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::chains::judge::{Judged, Outcome};
use crate::chains::label::Program;
use crate::chains::options::{Options, USAGE};
use crate::chains::table::{counts, table};
use crate::harness::{self, Ended, Suite, Words};
use crate::steps::{self, Traced};
use test_support::library::library;
use test_support::program::with_default_signals;
use test_support::temp_dir::TempDir;

pub(crate) const SUITE: Suite = Suite { name: "chains", usage: USAGE, run };

/// How long a program hangs without a recorder.
const PLAIN: Duration = Duration::from_millis(800);
/// The same with libraries, which load hundreds of classes first.
const PLAIN_WITH_LIBRARIES: Duration = Duration::from_millis(3_000);
/// With a recorder: a wait of a main thread without messages is a hang after 5 s.
const TRACED: Duration = Duration::from_millis(5_500);
/// A program that has not ended after this is killed.
const MAX_RUN: Duration = Duration::from_secs(90);

fn method_beat() -> PathBuf {
    test_support::root().join("android/method-beat/classes")
}

/// Some from all kinds of families.
const SOME: [&str; 16] = [
    "slow-task-1",
    "behind-one-2",
    "nested-get-0",
    "own-executor-1",
    "lock-of-task-2",
    "latch-slow-task-4",
    "second-stage-1",
    "join-2",
    "cycle-lock-future-5",
    "future-lock-6",
    "take-slow-producer-1",
    "condition-lost-signal-4",
    "co-functions-1",
    "co-nested-1",
    "rx-blocking-0",
    "handler-slow-message-1",
];

/// The classes: without and with calls of the recorder.
struct Classes {
    stage: PathBuf,
    plain: PathBuf,
    /// The instrumented ones, and the library.
    traced: Option<(Traced, PathBuf)>,
}

fn build(options: &Options, directory: &TempDir, programs: &[Program]) -> Classes {
    let (stage, plain) = (directory.path().join("stage"), directory.path().join("plain"));
    let mut not_instrumented = libraries::fakes();
    not_instrumented.push(harness::directory(SUITE.name).join("Stage.java").display().to_string());
    steps::compile(&[method_beat()], &not_instrumented, &stage, directory);
    let files = programs.iter().flat_map(|program| &program.files);
    let (kotlin, java): (Vec<String>, Vec<String>) = files
        .map(|(path, text)| directory.file(&format!("sources/{path}"), text))
        .partition(|source| source.ends_with(".kt"));
    let mut path = libraries::class_path();
    path.push(stage.clone());
    steps::compile(&path, &java, &plain, directory);
    libraries::kotlinc(&plain, &path, &kotlin);
    let traced =
        (!options.facts).then(|| (steps::instrument(&plain, &["--waits"], directory), library(directory)));
    Classes { stage, plain, traced }
}

/// The command that runs a program.
fn java(classes: &Path, stage: &Path, hang: Duration) -> Command {
    let mut java = Command::new("java");
    // Small and quick to start: several run at once.
    java.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-XX:+UseSerialGC"]);
    // On a machine with two cores the common pool has no threads of its own.
    java.arg("-Djava.util.concurrent.ForkJoinPool.common.parallelism=3");
    java.arg(format!("-Dchains.ms={}", hang.as_millis()));
    let mut path = vec![classes.to_owned(), stage.to_owned(), method_beat()];
    path.extend(libraries::class_path());
    java.arg("-cp").arg(std::env::join_paths(path).unwrap());
    for variable in ["CLASSPATH", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
        java.env_remove(variable);
    }
    with_default_signals(&mut java);
    java
}

/// Runs it until it has printed where its threads are, kills it in its hang, and returns what it printed. Its stdin stays open and
/// empty.
fn printed(mut java: Command) -> Result<String, String> {
    let child = java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("java: run scripts/test, which installs a JDK");
    let out = BufReader::new(child.stdout.take().unwrap());
    let (send, receive) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let lines = out.lines().map_while(Result::ok).take_while(|line| line != "end");
        let text = lines.fold(String::new(), |text, line| text + &line + "\n");
        let _ = send.send(text);
    });
    let text = receive.recv_timeout(MAX_RUN).map_err(|_| "it never reached its hang".to_owned());
    let _ = child.kill();
    let _ = child.wait();
    reader.join().unwrap();
    text
}

/// Runs a program without a recorder, and compares where its threads are with its label.
fn plain(classes: &Classes, program: &Program) -> Result<(), String> {
    let loads = program.family.starts_with("co-") || program.family.starts_with("rx-");
    let hang = if loads { PLAIN_WITH_LIBRARIES } else { PLAIN };
    let mut java = java(&classes.plain, &classes.stage, hang);
    java.arg(&program.main);
    facts::hold(program, &printed(java)?)
}

/// Runs an instrumented program, and judges the report on its recording.
fn traced(
    options: &Options,
    classes: &Classes,
    directory: &TempDir,
    program: &Program,
) -> Result<Judged, String> {
    let (traced, library) = classes.traced.as_ref().expect("instrumented");
    let mut java = java(&traced.classes, &classes.stage, TRACED);
    let recordings = directory.path().join("recordings").join(program.name());
    std::fs::create_dir_all(&recordings).unwrap();
    java.arg(format!("-Danrscope.lib={}", library.display()));
    java.arg(format!("-Danrscope.dir={}", recordings.display()));
    java.arg(format!("-Danrscope.mapId={}", traced.map_id)).arg("-Danrscope.name=com.example.chains");
    java.arg(&program.main);
    facts::hold(program, &printed(java)?)?;
    let files: Vec<PathBuf> =
        std::fs::read_dir(&recordings).unwrap().map(|entry| entry.unwrap().path()).collect();
    let file = files.iter().find(|file| file.extension().is_some_and(|end| end == "anrscope"));
    let file = file.ok_or("no recording")?;
    let report = steps::report(file, Some(&traced.map));
    let judged = judge::judge(&program.label, &report);
    if options.keep {
        std::fs::write(recordings.join("report.json"), report.to_string()).unwrap();
    } else {
        let _ = std::fs::remove_dir_all(recordings);
    }
    Ok(judged)
}

fn run(words: &mut Words) -> Result<Ended, String> {
    let options = Options::parse(words)?;
    judge::check();
    let all = families::all();
    all.iter().for_each(facts::check);
    harness::check_labels(
        &SUITE,
        &all.iter().map(|program| format!("{}\n", program.line())).collect::<String>(),
    );
    let some = |program: &Program| {
        options.full || !options.names.is_empty() || SOME.contains(&program.name().as_str())
    };
    let programs = options.names.choose(&SUITE, all.into_iter().filter(some), Program::name)?;
    let directory = TempDir::new();
    let begun = Instant::now();
    let classes = build(&options, &directory, &programs);
    let right = labels_right(&options, &classes, &programs);
    let (holds, figure) = if classes.traced.is_some() {
        judged(&options, &directory, &classes, &programs)
    } else {
        (true, format!("{right} of {} labels hold without a recorder", programs.len()))
    };
    if options.keep {
        println!("kept: {}", directory.path().display());
        std::mem::forget(directory);
    }
    // The claim is what is tested, not each program.
    Ok(Ended::claim(
        holds && right == programs.len(),
        format!("{figure} ({:.0} s)", begun.elapsed().as_secs_f64()),
    ))
}

/// Runs all programs without a recorder, and prints whose labels are wrong. Returns how many are right.
fn labels_right(options: &Options, classes: &Classes, programs: &[Program]) -> usize {
    let facts = harness::each(
        options.jobs,
        programs,
        |program| plain(classes, program),
        |program, fact| {
            let fact = fact.unwrap_or_else(|| Err("the case itself failed".to_owned()));
            fact.inspect_err(|why| println!("{}: without a recorder: {why}", program.name())).is_ok()
        },
    );
    let right = facts.iter().filter(|right| **right).count();
    println!("{right} of {} programs do what their labels say, without a recorder", programs.len());
    right
}

/// Runs all programs with a recorder, and judges the reports. Returns true if the claim holds, and the figure.
fn judged(options: &Options, directory: &TempDir, classes: &Classes, programs: &[Program]) -> (bool, String) {
    let judged = harness::each(
        options.jobs,
        programs,
        |program| traced(options, classes, directory, program),
        |program, judged| {
            let judged = judged.unwrap_or_else(|| Err("the case itself failed".to_owned()));
            let failed = |why| Judged { outcome: Outcome::Wrong, difference: format!("it failed: {why}") };
            let judged = judged.unwrap_or_else(failed);
            if judged.outcome != Outcome::Named {
                println!("{:<26} {:?}: {}", program.name(), judged.outcome, judged.difference);
            }
            judged
        },
    );
    let results: Vec<(&Program, Judged)> = programs.iter().zip(judged).collect();
    print!("\n{}", table(&results));
    let all = counts(&results);
    let figure = format!(
        "{} of {} named ({:.1} % of those that can be), {} wrong, {} short",
        all.named,
        programs.len(),
        all.percent(),
        all.wrong,
        all.short + all.allowed
    );
    (all.wrong == 0 && all.percent() >= options.claim, figure)
}
