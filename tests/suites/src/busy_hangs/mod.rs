//! Generated apps whose main thread is busy for too long, on the fakes of Android's classes: does the report name the message, the calls that led to the
//! loop, and the method whose loop it is?
//!
//! Each case is generated together with its label: `labels.jsonl` is made from how a case was built, never from a report.
//! Without arguments a dozen cases of 1.5 s; `scripts/prove busy-hangs` runs all.

mod cases;
mod chain;
mod judge;
mod table;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::busy_hangs::cases::Case;
use crate::busy_hangs::judge::{Judged, Said};
use crate::busy_hangs::table::table;
use crate::harness::{self, Ended, Names, Suite, Words};
use crate::steps::{self, Traced};
use test_support::library::library;
use test_support::temp_dir::TempDir;

pub(crate) const SUITE: Suite = Suite {
    name: "busy_hangs",
    usage:
        "busy_hangs [--full] [--seconds S] [--jobs N] [--set NAME=VALUE]... [--option KEY=VALUE]... [--claim PERCENT] [--keep] [NAME...]
    --full       all cases, 6 s each with the library's default limits; else a dozen of 1.5 s
    --seconds    how long main is busy, with the default limits
    --jobs       JVMs at once, 2 by default
    --set        a system property, such as anrscope.resolution=exact; its name is in the table's heading
    --option     an option of the app, such as every_call=1
    --claim      how many must be right, 66 by default
    --keep       recordings, sources and classes stay, and it is said where
    NAME         only cases whose name contains one of these
Case KIND-DEPTH: kinds are tests/suites/src/busy_hangs/loops; ANRSCOPE_WRITE_DOCS=1 writes labels.jsonl anew.",
    run,
};

struct Options {
    full: bool,
    hang_ms: u64,
    limits: &'static [&'static str],
    jobs: usize,
    properties: Vec<String>,
    app_options: Vec<String>,
    claim: u64,
    keep: bool,
    names: Names,
}

fn options(words: &mut Words) -> Result<Options, String> {
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
        names: Names::default(),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => (options.full, options.hang_ms, options.limits) = (true, 6_000, &[]),
            "--seconds" => (options.hang_ms, options.limits) = (words.number::<u64>()? * 1_000, &[]),
            "--jobs" => options.jobs = words.number::<usize>()?.max(1),
            "--set" => options.properties.push(words.value()?),
            "--option" => options.app_options.push(words.value()?),
            "--claim" => options.claim = words.number()?,
            "--keep" => options.keep = true,
            _ => options.names.add(word)?,
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

fn build(directory: &TempDir, cases: &[Case]) -> Traced {
    let files = cases.iter().flat_map(|case| &case.files);
    let sources: Vec<String> =
        files.map(|(path, text)| directory.file(&format!("sources/{path}"), text)).collect();
    let plain = directory.path().join("plain");
    steps::compile(&[test_support::android::classes()], &sources, &plain, directory);
    steps::instrument(&plain, &[], directory)
}

/// Runs a case and returns the report of its recording.
fn report(options: &Options, apps: &Traced, library: &Path, case: &Case) -> Value {
    let mut run = test_support::android::Case::new("BusyLife")
        .named(&case.name())
        .sdk(34)
        .library(library)
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
    let report = steps::report(file, Some(&apps.map));
    if !options.keep {
        let _ = std::fs::remove_file(file);
    }
    report
}

fn run(words: &mut Words) -> Result<Ended, String> {
    let options = options(words)?;
    judge::check();
    let all = cases::all();
    harness::check_labels(&SUITE, &cases::labels(&all));
    let wanted = if options.full || !options.names.is_empty() { all } else { quick(all) };
    let cases = options.names.choose(&SUITE, wanted, Case::name)?;
    let directory = TempDir::new();
    let apps = build(&directory, &cases);
    let begun = Instant::now();
    let judged = judge_all(&options, &apps, &library(&directory), &cases);
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
    let seconds = begun.elapsed().as_secs_f64();
    let figure = format!(
        "{right} of {} reports have message, chain and method right ({heading}; {seconds:.0} s)",
        cases.len()
    );
    Ok(Ended::claim(good, figure))
}

fn recordings() -> PathBuf {
    test_support::android::classes().parent().unwrap().join("runs")
}

/// In the order of the cases.
fn judge_all<'c>(
    options: &Options,
    apps: &Traced,
    library: &Path,
    cases: &'c [Case],
) -> Vec<(&'c Case, Judged)> {
    let run = |case: &Case| Said::of(&report(options, apps, library, case));
    let ended = |case: &Case, said: Option<Said>| {
        let judged = said.as_ref().map(|said| said.judge(&case.label)).unwrap_or_default();
        let failed = || "the case itself failed".to_owned();
        let text = said.map_or_else(failed, |said| said.difference(&case.label, judged));
        println!("{:<12} {} {text}", case.name(), if judged.right() { "ok" } else { "WRONG" });
        judged
    };
    cases.iter().zip(harness::each(options.jobs, cases, run, ended)).collect()
}
