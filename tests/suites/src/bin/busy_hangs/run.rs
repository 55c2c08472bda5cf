//! Parses arguments; compiles and instruments the apps, runs them in parallel, and judges the reports.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::cases::{self, Case};
use crate::judge::{self, Judged, Said};
use crate::table::table;
use test_support::library::library;
use test_support::program;
use test_support::temp_dir::TempDir;

const USAGE: &str =
    "busy_hangs [--full] [--seconds S] [--jobs N] [--set NAME=VALUE]... [--option KEY=VALUE]... [--claim PERCENT] [--keep] [NAME...]
    --full       all cases, 6 s each with the library's default limits; else a dozen of 1.5 s
    --seconds    how long main is busy, with the default limits
    --jobs       JVMs at once, 2 by default
    --set        a system property, such as anrscope.resolution=exact; its name is in the table's heading
    --option     an option of the app, such as every_call=1
    --claim      how many must be right, 66 by default
    --keep       recordings, sources and classes stay, and it is said where
    NAME         only cases whose name contains one of these
Case KIND-DEPTH: kinds are tests/busy_hangs/loops; ANRSCOPE_WRITE_DOCS=1 writes labels.jsonl anew.";

struct Options {
    full: bool,
    hang_ms: u64,
    limits: &'static [&'static str],
    jobs: usize,
    properties: Vec<String>,
    app_options: Vec<String>,
    claim: u64,
    keep: bool,
    names: Vec<String>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        full: false,
        hang_ms: 1_500,
        limits: &["lag_ms=300", "anr_ms=800", "slow_ms=200", "sample_ms=50"],
        jobs: 2,
        properties: Vec::new(),
        app_options: Vec::new(),
        // All of the dozen are right on a machine that is not busy with other things. The proof claims 98 of all.
        claim: 83,
        keep: false,
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        match word.as_str() {
            "--full" => (options.full, options.hang_ms, options.limits) = (true, 6_000, &[]),
            "--seconds" => (options.hang_ms, options.limits) = (number(value()?)? * 1_000, &[]),
            "--jobs" => options.jobs = number(value()?)?.max(1) as usize,
            "--set" => options.properties.push(value()?),
            "--option" => options.app_options.push(value()?),
            "--claim" => options.claim = number(value()?)?,
            "--keep" => options.keep = true,
            _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
            _ => options.names.push(word),
        }
    }
    Ok(options)
}

/// A dozen: every other kind, each depth in turn.
fn quick(cases: Vec<Case>) -> Vec<Case> {
    let of_kind = cases::DEPTHS.len();
    let wanted = |at: usize| (at / of_kind).is_multiple_of(2) && (at / of_kind / 2) % of_kind == at % of_kind;
    cases.into_iter().enumerate().filter(|(at, _)| wanted(*at)).map(|(_, case)| case).take(12).collect()
}

/// The apps, as they run.
struct Apps {
    classes: PathBuf,
    map: PathBuf,
    map_id: String,
    library: PathBuf,
}

fn build(directory: &TempDir, cases: &[Case]) -> Apps {
    let mut sources = Vec::new();
    for (path, text) in cases.iter().flat_map(|case| &case.files) {
        sources.push(directory.file(&format!("sources/{path}"), text));
    }
    let (plain, traced, map) =
        (directory.name("plain"), directory.name("traced"), directory.name("methodMapping.txt"));
    std::fs::create_dir_all(&plain).unwrap();
    let compiled = Command::new("javac")
        .args(["-nowarn", "-Xlint:-options", "-proc:none", "-g", "-cp"])
        .arg(test_support::android::classes())
        .arg("-d")
        .arg(&plain)
        .args(&sources)
        .output()
        .expect("javac: run scripts/test, which installs a JDK");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let shown = program::run(["instrument", "--json", &plain, "--out", &traced, "--method-map", &map]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let summary: Value = serde_json::from_str(&shown.stdout).expect(&shown.stdout);
    println!("{} apps: {} methods, {} of them traced", cases.len(), summary["methods"], summary["traced"]);
    Apps {
        classes: traced.into(),
        map: map.into(),
        map_id: summary["map_id"].as_str().unwrap().to_owned(),
        library: library(directory),
    }
}

/// Runs a case and returns the report of its recording.
fn report(options: &Options, apps: &Apps, case: &Case) -> Value {
    let mut run = test_support::android::Case::new("BusyLife")
        .named(&case.name())
        .sdk(34)
        .library(&apps.library)
        .classes(&apps.classes)
        .property(&format!("anrscope.mapId={}", apps.map_id));
    for property in &options.properties {
        run = run.property(property);
    }
    run = run.word(&case.package).word(&options.hang_ms.to_string()).word(case.end());
    let words = options.limits.iter().copied().chain(options.app_options.iter().map(String::as_str));
    run = words.fold(run, |run, option| run.word(option));
    let files = run.lenient().run().files();
    let [file] = &files[..] else { panic!("recordings: {files:?}") };
    let words = ["report", "--format", "json", "--method-map"].map(Path::new);
    let shown = program::run(words.into_iter().chain([apps.map.as_path(), file]));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let all: Value = serde_json::from_str(&shown.stdout).expect(&shown.stdout);
    if !options.keep {
        let _ = std::fs::remove_file(file);
    }
    all["reports"][0].clone()
}

/// Whether `labels.jsonl` is what the generator makes.
fn labels_are_those_of(cases: &[Case]) -> bool {
    let (file, made) = (cases::here().join("labels.jsonl"), cases::labels(cases));
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
    let options = match options() {
        Ok(options) => options,
        Err(fault) => {
            eprintln!("busy_hangs: {fault}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    judge::check();
    let all = cases::all();
    if !labels_are_those_of(&all) {
        println!("labels.jsonl is not what the generator makes: ANRSCOPE_WRITE_DOCS=1 writes it");
        println!("test result: FAILED. 0 passed; 1 failed");
        return ExitCode::FAILURE;
    }
    let named = |case: &Case| {
        let name = format!("busy_hangs {}", case.name());
        options.names.iter().any(|wanted| name.contains(wanted.as_str()))
    };
    let cases = match (options.names.is_empty(), options.full) {
        (false, _) => all.into_iter().filter(named).collect(),
        (true, true) => all,
        (true, false) => quick(all),
    };
    if cases.is_empty() {
        println!("test result: ok. 0 passed; 0 failed");
        return ExitCode::SUCCESS;
    }
    let directory = TempDir::new();
    let apps = build(&directory, &cases);
    let begun = Instant::now();
    let results = judge_all(&options, &apps, &cases);
    let judged: Vec<(&Case, Judged)> = cases.iter().zip(results).collect();
    let changed = [&options.properties[..], &options.app_options].concat();
    let heading = if changed.is_empty() { "default settings".to_owned() } else { changed.join(", ") };
    println!("\nbusy hangs of {:.1} s, {heading}:", options.hang_ms as f64 / 1e3);
    print!("{}", table(&judged));
    if options.keep {
        println!(
            "kept: {} (sources, classes, map); recordings in {}",
            directory.path().display(),
            recordings().display()
        );
        std::mem::forget(directory);
    }
    let right = judged.iter().filter(|(_, judged)| judged.right()).count();
    let good = (right * 100) as u64 >= cases.len() as u64 * options.claim;
    // The claim is what is tested, not each case.
    println!(
        "test result: {}. {} passed; {} failed",
        if good { "ok" } else { "FAILED" },
        u8::from(good),
        u8::from(!good)
    );
    println!(
        "busy-hangs: {right} of {} reports have message, chain and method right ({heading}; {:.0} s)",
        cases.len(),
        begun.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(!good))
}

fn recordings() -> PathBuf {
    test_support::android::classes().parent().unwrap().join("runs")
}

/// In the order of the cases.
fn judge_all(options: &Options, apps: &Apps, cases: &[Case]) -> Vec<Judged> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Judged::default(); cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { break };
                    let said = std::panic::catch_unwind(|| Said::of(&report(options, apps, case)));
                    let (judged, text) = match said {
                        Ok(said) => {
                            let judged = said.judge(&case.label);
                            (judged, said.difference(&case.label, judged))
                        }
                        Err(_) => (Judged::default(), "the case itself failed".to_owned()),
                    };
                    let mut results = results.lock().unwrap();
                    println!("{:<12} {} {text}", case.name(), if judged.right() { "ok" } else { "WRONG" });
                    results[at] = judged;
                }
            });
        }
    });
    results.into_inner().unwrap()
}
