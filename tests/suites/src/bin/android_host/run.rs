//! Parses arguments, runs cases in parallel, and prints a line for each.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{findings, units};
use test_support::library::library;
use test_support::temp_dir::TempDir;

/// Number of parallel JVMs: main sleeps most of the time.
const AT_ONCE: usize = 4;

/// The size of the run.
pub(crate) struct Options {
    pub levels: Vec<u32>,
    /// How long main hangs.
    pub hang_ms: u64,
    /// When a message is a lag and an ANR, as options of the library; none: its defaults.
    pub limits: &'static [&'static str],
    /// How long main idles after a vsync that it did not request.
    pub still_ms: u64,
    /// Number of runs of the deadlock case, and of races of idle handlers.
    pub rounds: u32,
    pub races: u32,
    names: Vec<String>,
    /// A case that fails in parallel is not run again alone.
    strict: bool,
    /// The library that the program carries.
    pub library: PathBuf,
}

/// One line of the result.
pub(crate) struct Line {
    pub good: bool,
    pub text: String,
}

/// A case at a level.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub level: u32,
    pub name: &'static str,
    pub run: fn(&Options, u32, &'static str) -> Line,
}

const USAGE: &str =
    "android_host [--full] [--strict] [--levels 21,34] [--seconds S] [--still S] [--rounds N] [--races N] [NAME...]
    --strict     a case that fails beside others fails, though it may hold by itself
    --full       --strict; main hangs for 7 s with the default limits, at 21, 23, 28, 30, 34, 35 and 37
    --seconds    how long main hangs, with the default limits
    --still      how long main has nothing to do after a vsync that it did not ask for, s
    --rounds     runs of the case of the deadlock
    --races      rounds of the race of idle handlers
    NAME         only cases whose name contains one of these";

fn options(library: PathBuf) -> Result<Options, String> {
    let mut options = Options {
        levels: vec![23, 37],
        hang_ms: 1_600,
        limits: &["lag_ms=300", "anr_ms=800", "slow_ms=200", "sample_ms=50"],
        still_ms: 2_000,
        rounds: 2,
        races: 200,
        names: Vec::new(),
        strict: false,
        library,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            words.next().and_then(|n| n.parse::<u64>().ok()).ok_or_else(|| format!("{word} takes a number"))
        };
        match word.as_str() {
            "--strict" => options.strict = true,
            "--full" => {
                options.strict = true;
                (options.levels, options.hang_ms) = (vec![21, 23, 28, 30, 34, 35, 37], 7_000);
                (options.limits, options.still_ms) = (&[], 60_000);
                (options.rounds, options.races) = (200, 1_500);
            }
            "--seconds" => (options.hang_ms, options.limits) = (number()? * 1_000, &[]),
            "--still" => options.still_ms = number()? * 1_000,
            "--rounds" => options.rounds = number()? as u32,
            "--races" => options.races = number()? as u32,
            "--levels" => {
                let levels = words.next().unwrap_or_default();
                let parsed: Result<Vec<u32>, _> = levels.split(',').map(str::parse).collect();
                options.levels =
                    parsed.map_err(|_| format!("--levels {levels}: numbers with commas between"))?;
            }
            _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
            _ => options.names.push(word),
        }
    }
    Ok(options)
}

fn judged(work: &Work, options: &Options) -> Line {
    let judged = std::panic::catch_unwind(|| (work.run)(options, work.level, work.name));
    judged.unwrap_or_else(|_| Line { good: false, text: "the case itself failed".to_owned() })
}

pub(crate) fn main() -> ExitCode {
    let directory = TempDir::new();
    let options = match options(PathBuf::new()) {
        Ok(options) => options,
        Err(fault) => {
            eprintln!("android_host: {fault}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let works: Vec<Work> = units::works(&options).into_iter().chain(findings::works(&options)).collect();
    let chosen = |work: &&Work| {
        let name = format!("android_host {} {}", work.level, work.name);
        options.names.is_empty() || options.names.iter().any(|wanted| name.contains(wanted.as_str()))
    };
    let works: Vec<&Work> = works.iter().filter(chosen).collect();
    if works.is_empty() {
        eprintln!("android_host: no case has {} in its name\n{USAGE}", options.names.join(" or "));
        return ExitCode::from(2);
    }
    let options = Options { library: library(&directory), ..options };
    let (next, red) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(work) = works.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let line = judged(work, &options);
                    let mut red = red.lock().unwrap();
                    println!(
                        "{} {}: {} {}",
                        work.level,
                        work.name,
                        line.text,
                        if line.good { "ok" } else { "RED" }
                    );
                    if !line.good {
                        red.push(**work);
                    }
                }
            });
        }
    });
    let mut red = red.into_inner().unwrap();
    if !options.strict {
        // Main hangs for 1.6 s here, beside three others: a case that fails for lack of CPU time is run again alone.
        red.retain(|work| {
            let line = judged(work, &options);
            let word = if line.good { "ok" } else { "FAILED" };
            println!(
                "test android_host {} {} (once more, by itself): {} ... {word}",
                work.level, work.name, line.text
            );
            !line.good
        });
    }
    let failed = red.len();
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {word}. {} passed; {failed} failed", works.len() - failed);
    println!(
        "android-host: {} of {} cases hold, at the levels {:?}",
        works.len() - failed,
        works.len(),
        options.levels
    );
    ExitCode::from(u8::from(failed > 0))
}
