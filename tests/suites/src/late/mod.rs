//! Programs and apps that work for long and hang once, at a random moment: does the report say when, and for how long?
//!
//! Each prints when its hang began and ended. Without arguments two of each for half a minute. `scripts/prove late` runs ten
//! for 30 minutes, all at once, since they mostly rest.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{self, Ended, Names, Suite, Words};
use crate::steps;
use test_support::library::library;
use test_support::random::Random;
use test_support::temp_dir::TempDir;
use test_support::{jdk, program};

pub(crate) const SUITE: Suite = Suite {
    name: "late",
    usage: "late [--full] [--minutes M] [--seed N] [NAME...]
    --full       ten for 30 minutes, else four for half a minute
    --minutes    how long each lives
    --seed       another one gives other moments
    NAME         only cases whose name contains one of these: jvm-lock, app-sleep and so on",
    run,
};

/// The length of the hang, ms.
const HANG_MS: u64 = 6_000;
/// Most that begin and length may differ from the truth, ms.
const DIFFERENCE_MS: u64 = 50;

const CASES: [&str; 10] = [
    "jvm-lock",
    "app-lock",
    "jvm-join",
    "app-sleep",
    "jvm-compute",
    "app-compute",
    "jvm-lock-2",
    "app-lock-2",
    "jvm-compute-2",
    "app-sleep-2",
];

struct Options {
    cases: usize,
    lives_ms: u64,
    seed: u64,
    names: Names,
}

fn options(words: &mut Words) -> Result<Options, String> {
    let mut options = Options { cases: 4, lives_ms: 30_000, seed: 1, names: Names::default() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => (options.cases, options.lives_ms) = (CASES.len(), 1_800_000),
            "--minutes" => options.lives_ms = words.number::<u64>()? * 60_000,
            "--seed" => options.seed = words.number()?,
            _ => options.names.add(word)?,
        }
    }
    Ok(options)
}

/// A begin, ms since 1970, and a length, ms.
#[derive(Clone, Copy, Debug)]
struct Hang {
    begun: u64,
    length: u64,
}

impl Hang {
    /// The hang in the program's own words: `hung BEGUN ENDED`.
    fn printed(text: &str) -> Option<Self> {
        let mut words = text.lines().find_map(|line| line.strip_prefix("hung "))?.split(' ');
        let begun: u64 = words.next()?.parse().ok()?;
        let ended: u64 = words.next()?.parse().ok()?;
        Some(Self { begun, length: ended - begun })
    }

    fn reported(report: &Value) -> Option<Self> {
        let (answer, start) = (&report["answer"], &report["start"]);
        let since = answer["since_ns"].as_u64()?;
        let after = since - start["boottime_ns"].as_u64()?;
        let begun = (start["realtime_ns"].as_u64()? + after) / 1_000_000;
        Some(Self { begun, length: answer["duration_ns"].as_u64()? / 1_000_000 })
    }

    fn is_near(self, other: Self) -> bool {
        self.begun.abs_diff(other.begun) <= DIFFERENCE_MS
            && self.length.abs_diff(other.length) <= DIFFERENCE_MS
    }
}

/// The library and the classes that all cases share.
struct Built {
    directory: TempDir,
    library: PathBuf,
}

/// Runs a case; returns what it has printed, and the report.
fn ran(built: &Built, name: &str, words: &[String; 4]) -> (String, Value) {
    if name.starts_with("jvm") {
        let trace = built.directory.name(&format!("{name}.pftrace"));
        let classes = built.directory.name("classes");
        let options = ["jvm", "-q", "-o", &trace, "java", "-cp", &classes, "Late"].map(str::to_owned);
        let shown = program::run(options.iter().chain(words));
        assert_eq!(shown.code, Some(0), "{shown:?}");
        return (shown.stdout, steps::report(&built.directory.path().join(format!("{name}.anrscope")), None));
    }
    let mut case = test_support::android::Case::new("LateLife").named(name).sdk(34).library(&built.library);
    for word in words {
        case = case.word(word);
    }
    let ran = case.lenient().run();
    let files = ran.files();
    let [file] = &files[..] else { panic!("recordings: {files:?}") };
    (ran.printed.clone(), steps::report(file, None))
}

/// A line about a case, and true if the report is right.
fn judged(built: &Built, name: &str, words: &[String; 4]) -> (String, bool) {
    let (printed, report) = ran(built, name, words);
    let truth = Hang::printed(&printed).unwrap_or_else(|| panic!("{name}: {printed}"));
    // Of an app, the 5 s timer makes it an ANR.
    let is_hang = ["hang", "anr"].iter().any(|verdict| report["answer"]["verdict"] == *verdict);
    let said = Hang::reported(&report).filter(|_| is_hang);
    let right = said.is_some_and(|said| said.is_near(truth));
    let differs = said.map_or_else(
        || "no hang".to_owned(),
        |said| {
            let by = |said: u64, truth: u64| said as i64 - truth as i64;
            format!(
                "begin {:+} ms, length {:+} ms",
                by(said.begun, truth.begun),
                by(said.length, truth.length)
            )
        },
    );
    let cause = report["answer"]["cause"]["id"].as_str().unwrap_or_default();
    let at = words[1].parse::<u64>().unwrap_or(0) / 1_000;
    (format!("{name:<14} at {at:>5} s  {} {differs}, {cause}", if right { "ok   " } else { "WRONG" }), right)
}

/// The cases, each with the arguments of its program: how long it lives, when it hangs, for how long, and how.
fn cases(options: &Options) -> Vec<(&'static str, [String; 4])> {
    let mut random = Random::new(options.seed);
    let latest = (options.lives_ms - HANG_MS - 2_000) as usize;
    let mut case = |name: &'static str| {
        let kind = name.split('-').nth(1).unwrap_or_default();
        let at = 2_000 + random.below(latest - 2_000);
        (name, [options.lives_ms.to_string(), at.to_string(), HANG_MS.to_string(), kind.to_owned()])
    };
    CASES[..options.cases].iter().map(|name| case(name)).collect()
}

fn run(words: &mut Words) -> Result<Ended, String> {
    let options = options(words)?;
    let cases = options.names.choose(&SUITE, cases(&options), |(name, _)| (*name).to_owned())?;
    let directory = TempDir::new();
    let classes = PathBuf::from(directory.name("classes"));
    let source = harness::directory(SUITE.name).join("Late.java");
    jdk::compile_files(&[source.to_str().expect("a name in UTF-8")], &classes);
    let built = Built { library: library(&directory), directory };
    let failed = || ("the case itself failed".to_owned(), false);
    let results = harness::each(
        cases.len(),
        &cases,
        |(name, words)| judged(&built, name, words),
        |_, result| result.unwrap_or_else(failed),
    );
    for (line, _) in &results {
        println!("{line}");
    }
    let right = results.iter().filter(|(_, right)| *right).count();
    let figure = format!(
        "{right} of {} hangs of {} s in {} s have the right begin and length (± {DIFFERENCE_MS} ms)",
        results.len(),
        HANG_MS / 1_000,
        options.lives_ms / 1_000
    );
    Ok(Ended::claim(right == results.len(), figure))
}
