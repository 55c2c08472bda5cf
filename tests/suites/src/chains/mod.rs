//! Generated programs in Java and Kotlin whose main thread waits for something that does not come: does the report name who must
//! move, and why?
//!
//! Each program is generated together with its label: `labels.jsonl` is made from how a program was built, never from a report.
//! Before a program is recorded, it runs without a recorder, and the stacks that it prints at its end show that its label is
//! right. Then it is recorded in one of three ways (`through`): instrumented, as an app is, or as plain classes by `anrscope jvm`
//! or by `anrscope attach`, as users record them.
//!
//! Without arguments some programs; `scripts/prove chains` runs all.

mod classes;
mod code;
mod facts;
mod families;
mod judge;
mod kotlin;
mod label;
mod libraries;
mod options;
mod running;
mod table;
mod through;

use std::time::{Duration, Instant};

use crate::chains::classes::{Classes, method_beat};
use crate::chains::judge::{Judged, Outcome};
use crate::chains::label::Program;
use crate::chains::options::{Options, USAGE};
use crate::chains::table::{counts, table};
use crate::chains::through::{Recorded, Recorder, Through, printed};
use crate::harness::{self, Ended, Suite, Words};
use crate::steps;
use test_support::temp_dir::TempDir;

pub(crate) const SUITE: Suite = Suite { name: "chains", usage: USAGE, run };

/// The length of a hang without a recorder.
const PLAIN: Duration = Duration::from_millis(800);
/// The same with libraries, which load hundreds of classes first.
const PLAIN_WITH_LIBRARIES: Duration = Duration::from_millis(3_000);

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

/// Runs a program without a recorder, and compares where its threads are with its label.
fn plain(classes: &Classes, program: &Program) -> Result<(), String> {
    let loads = program.family.starts_with("co-") || program.family.starts_with("rx-");
    let hang = if loads { PLAIN_WITH_LIBRARIES } else { PLAIN };
    let mut java = classes.java(&[classes.plain.clone(), method_beat()], hang);
    java.arg(&program.main);
    facts::hold(program, &printed(java)?)
}

/// Records a program, and judges the report.
fn recorded(
    options: &Options,
    recorder: &Recorder<'_>,
    directory: &TempDir,
    program: &Program,
) -> Result<Judged, String> {
    let recordings = directory.path().join("recordings").join(program.name());
    std::fs::create_dir_all(&recordings).unwrap();
    let Recorded { printed, file, map } = recorder.record(program, &recordings)?;
    facts::hold(program, &printed)?;
    let report = steps::report(&file, map.as_deref());
    if options.keep {
        std::fs::write(recordings.join("report.json"), report.to_string()).unwrap();
    } else {
        let _ = std::fs::remove_dir_all(recordings);
    }
    Ok(judge::judge(&program.label, &report))
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
    let chosen = options.names.choose(&SUITE, all.into_iter().filter(some), Program::name)?;
    let through = options.through;
    let (programs, left_out): (Vec<Program>, Vec<Program>) =
        chosen.into_iter().partition(|program| through.runs(program));
    if programs.is_empty() {
        return Err("these programs need Android's classes: --through instrument runs them".to_owned());
    }
    let directory = TempDir::new();
    let begun = Instant::now();
    let classes = Classes::compile(&directory, &programs);
    // Labels do not depend on the way: one way shows that they are right.
    let is_plain = options.facts || through == Through::Instrument;
    let right = if is_plain { labels_right(&options, &classes, &programs) } else { programs.len() };
    let (holds, mut figure) = if options.facts {
        (true, format!("{right} of {} labels hold without a recorder", programs.len()))
    } else {
        judged(&options, &directory, &classes, &programs)
    };
    if !left_out.is_empty() {
        figure += &format!(", {} not run: they need Android's classes", left_out.len());
    }
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
    let recorder = Recorder::new(options.through, classes, directory);
    let mut failures = 0;
    let judged = harness::each(
        options.jobs,
        programs,
        |program| recorded(options, &recorder, directory, program),
        |program, judged| {
            let judged = judged.unwrap_or_else(|| Err("the case itself failed".to_owned()));
            let judged = judged.unwrap_or_else(|why| {
                failures += 1;
                Judged { outcome: Outcome::Wrong, difference: format!("it failed: {why}") }
            });
            if judged.outcome != Outcome::Named {
                println!("{:<26} {:?}: {}", program.name(), judged.outcome, judged.difference);
            }
            judged
        },
    );
    let results: Vec<(&Program, Judged)> = programs.iter().zip(judged).collect();
    print!("\n{}", table(&results));
    let all = counts(&results);
    let mut figure = format!(
        "through {} {} of {} named ({:.1} % of those that can be), {} wrong, {} short",
        options.through.word(),
        all.named,
        programs.len(),
        all.percent(),
        all.wrong,
        all.short + all.allowed
    );
    let Some(claim) = options.claim else {
        figure += ", measured and not claimed";
        return (failures == 0, figure);
    };
    (all.wrong == 0 && all.percent() >= claim, figure)
}
