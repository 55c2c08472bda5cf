//! Compiles and instruments the programs, runs them in parallel, and judges the reports.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::judge::{self, Judged, Outcome};
use crate::label::Program;
use crate::options::{Options, USAGE};
use crate::table::{counts, table};
use crate::{facts, families, libraries};
use test_support::library::library;
use test_support::program::{self, with_default_signals};
use test_support::temp_dir::TempDir;

/// How long a program hangs without a recorder.
const PLAIN: Duration = Duration::from_millis(800);
/// The same with libraries, which load hundreds of classes first.
const PLAIN_WITH_LIBRARIES: Duration = Duration::from_millis(3_000);
/// With a recorder: a wait of a main thread without messages is a hang after 5 s.
const TRACED: Duration = Duration::from_millis(5_500);
/// A program that has not ended after this is killed.
const MAX_RUN: Duration = Duration::from_secs(90);

/// This directory.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/chains")
}

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
    /// Directory, map, id of the map, library.
    traced: Option<(PathBuf, PathBuf, String, PathBuf)>,
}

fn javac(into: &Path, path: &[PathBuf], sources: &[String], directory: &TempDir) {
    std::fs::create_dir_all(into).unwrap();
    if sources.is_empty() {
        return;
    }
    let list = directory.file("sources.txt", sources.join("\n"));
    let compiled = Command::new("javac")
        .args(["-nowarn", "-Xlint:-options", "-proc:none", "-g", "-cp"])
        .arg(std::env::join_paths(path).unwrap())
        .arg("-d")
        .arg(into)
        .arg(format!("@{list}"))
        .output()
        .expect("javac: run scripts/test, which installs a JDK");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

fn build(options: &Options, directory: &TempDir, programs: &[Program]) -> Classes {
    let (stage, plain) = (directory.path().join("stage"), directory.path().join("plain"));
    let mut not_instrumented = libraries::fakes();
    not_instrumented.push(here().join("Stage.java").display().to_string());
    javac(&stage, &[method_beat()], &not_instrumented, directory);
    let sources: Vec<String> = programs
        .iter()
        .flat_map(|program| &program.files)
        .map(|(path, text)| directory.file(&format!("sources/{path}"), text))
        .collect();
    let (kotlin, java): (Vec<String>, Vec<String>) =
        sources.into_iter().partition(|source| source.ends_with(".kt"));
    let mut path = libraries::class_path();
    path.push(stage.clone());
    javac(&plain, &path, &java, directory);
    libraries::kotlinc(&plain, &path, &kotlin);
    let traced = (!options.facts).then(|| {
        let (traced, map) = (directory.name("traced"), directory.name("methodMapping.txt"));
        let plain = plain.to_str().unwrap();
        let words = ["instrument", "--json", "--waits", plain, "--out", &traced, "--method-map", &map];
        let shown = program::run(words);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let summary: Value = serde_json::from_str(&shown.stdout).expect(&shown.stdout);
        println!("{} methods, {} of them traced", summary["methods"], summary["traced"]);
        let id = summary["map_id"].as_str().unwrap().to_owned();
        (traced.into(), map.into(), id, library(directory))
    });
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
    let (traced, map, id, library) = classes.traced.as_ref().expect("instrumented");
    let mut java = java(traced, &classes.stage, TRACED);
    let recordings = directory.path().join("recordings").join(program.name());
    std::fs::create_dir_all(&recordings).unwrap();
    java.arg(format!("-Danrscope.lib={}", library.display()));
    java.arg(format!("-Danrscope.dir={}", recordings.display()));
    java.arg(format!("-Danrscope.mapId={id}")).arg("-Danrscope.name=com.example.chains");
    java.arg(&program.main);
    facts::hold(program, &printed(java)?)?;
    let files: Vec<PathBuf> =
        std::fs::read_dir(&recordings).unwrap().map(|entry| entry.unwrap().path()).collect();
    let file = files.iter().find(|file| file.extension().is_some_and(|end| end == "anrscope"));
    let file = file.ok_or("no recording")?;
    let words = ["report", "--json", "--method-map"].map(Path::new);
    let shown = program::run(words.into_iter().chain([map.as_path(), file.as_path()]));
    if shown.code != Some(0) {
        return Err(format!("{shown:?}"));
    }
    let all: Value = serde_json::from_str(&shown.stdout).map_err(|fault| fault.to_string())?;
    let judged = judge::judge(&program.label, &all["reports"][0]);
    if options.keep {
        std::fs::write(recordings.join("report.json"), &shown.stdout).unwrap();
    } else {
        let _ = std::fs::remove_dir_all(recordings);
    }
    Ok(judged)
}

/// Whether `labels.jsonl` is what the generator makes.
fn labels_are_those_of(programs: &[Program]) -> bool {
    let made: String = programs.iter().map(|program| format!("{}\n", program.line())).collect();
    let file = here().join("labels.jsonl");
    if std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    std::fs::read_to_string(&file).is_ok_and(|there| there == made)
}

pub(crate) fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(fault) => {
            eprintln!("chains: {fault}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    judge::check();
    let all = families::all();
    all.iter().for_each(facts::check);
    if !labels_are_those_of(&all) {
        println!("labels.jsonl is not what the generator makes: ANRSCOPE_WRITE_DOCS=1 writes it");
        println!("test result: FAILED. 0 passed; 1 failed");
        return ExitCode::FAILURE;
    }
    let programs = chosen(&options, all);
    if programs.is_empty() {
        println!("test result: ok. 0 passed; 0 failed");
        return ExitCode::SUCCESS;
    }
    let directory = TempDir::new();
    let begun = Instant::now();
    let classes = build(&options, &directory, &programs);
    let good = run(&options, &directory, &classes, &programs, begun);
    if options.keep {
        println!("kept: {}", directory.path().display());
        std::mem::forget(directory);
    }
    ExitCode::from(u8::from(!good))
}

fn chosen(options: &Options, all: Vec<Program>) -> Vec<Program> {
    let wanted = |program: &Program| match (&options.names[..], options.full) {
        ([], true) => true,
        ([], false) => SOME.contains(&program.name().as_str()),
        (names, _) => names.iter().any(|name| format!("chains {}", program.name()).contains(name)),
    };
    all.into_iter().filter(wanted).collect()
}

/// Both steps; prints the result, and returns whether it is good.
fn run(
    options: &Options,
    directory: &TempDir,
    classes: &Classes,
    programs: &[Program],
    begun: Instant,
) -> bool {
    let facts = for_each(options.jobs, programs, |program| plain(classes, program));
    let mut false_labels = 0;
    for (program, fact) in programs.iter().zip(&facts) {
        if let Err(why) = fact {
            println!("{}: without a recorder: {why}", program.name());
            false_labels += 1;
        }
    }
    let count = programs.len();
    println!("{} of {count} programs do what their labels say, without a recorder", count - false_labels);
    let mut good = false_labels == 0;
    let result = if classes.traced.is_some() {
        let results =
            for_each(options.jobs, programs, |program| traced(options, classes, directory, program));
        let results: Vec<(&Program, Judged)> = programs
            .iter()
            .zip(results)
            .map(|(program, judged)| {
                let failed =
                    |why| Judged { outcome: Outcome::Wrong, difference: format!("it failed: {why}") };
                (program, judged.unwrap_or_else(failed))
            })
            .collect();
        for (program, judged) in results.iter().filter(|(_, judged)| judged.outcome != Outcome::Named) {
            println!("{:<26} {:?}: {}", program.name(), judged.outcome, judged.difference);
        }
        print!("\n{}", table(&results));
        let all = counts(&results);
        good &= all.wrong == 0 && all.percent() >= options.claim;
        format!(
            "{} of {count} named ({:.1} % of those that can be), {} wrong, {} short",
            all.named,
            all.percent(),
            all.wrong,
            all.short + all.allowed
        )
    } else {
        format!("{} of {count} labels hold without a recorder", count - false_labels)
    };
    // The claim is what is tested, not each program.
    println!(
        "test result: {}. {} passed; {} failed",
        if good { "ok" } else { "FAILED" },
        u8::from(good),
        u8::from(!good)
    );
    println!("chains: {result} ({:.0} s)", begun.elapsed().as_secs_f64());
    good
}

/// Does something for each program, some at once. In the order of the programs.
fn for_each<R: Send>(jobs: usize, programs: &[Program], run: impl Fn(&Program) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(program) = programs.get(at) else { break };
                    let result = run(program);
                    results.lock().unwrap().push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
