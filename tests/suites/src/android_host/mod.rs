//! The library on fakes of Android's classes at several API levels: main hangs in each place from which Android calls an
//! app, and each surprise of those classes (`findings`), judged by the recording and by the program's report of it.
//!
//! Without arguments the quick form: short limits, few levels. `scripts/prove android-host` runs the whole.

mod findings;
mod units;
mod work;

use std::path::PathBuf;

use crate::android_host::work::{Line, Options, Work};
use crate::harness::{self, Ended, Names, Suite, Words};
use test_support::library::library;
use test_support::temp_dir::TempDir;

pub(crate) const SUITE: Suite = Suite {
    name: "android_host",
    usage:
        "android_host [--full] [--strict] [--levels 21,34] [--seconds S] [--still S] [--rounds N] [--races N] [NAME...]
    --strict     a case that fails beside others fails, though it may hold by itself
    --full       --strict; main hangs for 7 s with the default limits, at 21, 23, 28, 30, 34, 35 and 37
    --seconds    how long main hangs, with the default limits
    --still      how long main has nothing to do after a vsync that it did not ask for, s
    --rounds     runs of the case of the deadlock
    --races      rounds of the race of idle handlers
    NAME         only cases whose name contains one of these",
    run,
};

/// Number of parallel JVMs: main sleeps most of the time.
const AT_ONCE: usize = 4;

/// The command line: the size of the run, the cases, and true if a case that fails in parallel is not run again alone.
fn options(words: &mut Words) -> Result<(Options, Names, bool), String> {
    let mut options = Options {
        levels: vec![23, 37],
        hang_ms: 1_600,
        limits: &["lag_ms=300", "anr_ms=800", "slow_ms=200", "sample_ms=50"],
        still_ms: 2_000,
        rounds: 2,
        races: 200,
        library: PathBuf::new(),
    };
    let (mut names, mut strict) = (Names::default(), false);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--strict" => strict = true,
            "--full" => {
                strict = true;
                (options.levels, options.hang_ms) = (vec![21, 23, 28, 30, 34, 35, 37], 7_000);
                (options.limits, options.still_ms) = (&[], 60_000);
                (options.rounds, options.races) = (200, 1_500);
            }
            "--seconds" => (options.hang_ms, options.limits) = (words.number::<u64>()? * 1_000, &[]),
            "--still" => options.still_ms = words.number::<u64>()? * 1_000,
            "--rounds" => options.rounds = words.number()?,
            "--races" => options.races = words.number()?,
            "--levels" => {
                let levels = words.value()?;
                let parsed: Result<Vec<u32>, _> = levels.split(',').map(str::parse).collect();
                options.levels =
                    parsed.map_err(|_| format!("--levels {levels}: numbers with commas between"))?;
            }
            _ => names.add(word)?,
        }
    }
    Ok((options, names, strict))
}

/// Runs cases, some at once, and prints a line for each. Returns those that fail.
fn failing(at_once: usize, options: &Options, works: &[Work], note: &str) -> Vec<Work> {
    let run = |work: &Work| (work.run)(options, work.level, work.name);
    let ended = |work: &Work, line: Option<Line>| {
        let line = line.unwrap_or_else(|| Line { good: false, text: "the case itself failed".to_owned() });
        println!(
            "{} {}{note}: {} {}",
            work.level,
            work.name,
            line.text,
            if line.good { "ok" } else { "RED" }
        );
        (!line.good).then_some(*work)
    };
    harness::each(at_once, works, run, ended).into_iter().flatten().collect()
}

fn run(words: &mut Words) -> Result<Ended, String> {
    let (options, names, strict) = options(words)?;
    let all = units::works(&options).into_iter().chain(findings::works(&options));
    let works = names.choose(&SUITE, all, |work| format!("{} {}", work.level, work.name))?;
    let directory = TempDir::new();
    let options = Options { library: library(&directory), ..options };
    let mut red = failing(AT_ONCE, &options, &works, "");
    if !strict {
        // Main hangs for 1.6 s here, beside three others: a case that fails for lack of CPU time is run again alone.
        red = failing(1, &options, &red, " (once more, by itself)");
    }
    let (passed, failed) = (works.len() - red.len(), red.len());
    let figure = format!("{passed} of {} cases hold, at the levels {:?}", works.len(), options.levels);
    Ok(Ended { passed, failed, figure })
}
