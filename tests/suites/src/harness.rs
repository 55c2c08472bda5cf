//! The frame of all suites: the choice of a suite, its options, the loop that runs cases, its labels, and its result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A suite in the table of all.
pub(crate) struct Suite {
    /// The word that chooses it, and the name of its directory.
    pub name: &'static str,
    /// The text of `--help`, which begins with the name.
    pub usage: &'static str,
    /// Runs it. An error is one of the command line.
    pub run: fn(&mut Words) -> Result<Ended, String>,
}

/// The result of a suite.
pub(crate) struct Ended {
    pub passed: usize,
    pub failed: usize,
    /// The measured figure, in a line: `scripts/prove` keeps it.
    pub figure: String,
}

impl Ended {
    /// The result of a suite that tests a claim about all cases, and not each case.
    pub(crate) fn claim(holds: bool, figure: String) -> Self {
        Self { passed: usize::from(holds), failed: usize::from(!holds), figure }
    }

    /// Prints the result as a test program does, and then the figure.
    fn print(&self, suite: &str) -> ExitCode {
        let word = if self.failed == 0 { "ok" } else { "FAILED" };
        println!("test result: {word}. {} passed; {} failed", self.passed, self.failed);
        println!("{}: {}", suite.replace('_', "-"), self.figure);
        ExitCode::from(u8::from(self.failed > 0))
    }
}

/// Runs the suite that the command line names. Returns 1 if it failed, and 2 if the command line is wrong.
pub(crate) fn main(suites: &[Suite]) -> ExitCode {
    let mut words =
        Words { left: std::env::args().skip(1).collect::<Vec<_>>().into_iter(), option: String::new() };
    let name = words.next().unwrap_or_default();
    let Some(suite) = suites.iter().find(|suite| suite.name == name) else {
        let usages: Vec<&str> = suites.iter().map(|suite| suite.usage).collect();
        let usage = format!("suites NAME [OPTION]...\n\n{}", usages.join("\n\n"));
        if name == "--help" {
            println!("{usage}");
            return ExitCode::SUCCESS;
        }
        eprintln!("suites: there is no suite {name:?}\n{usage}");
        return ExitCode::from(2);
    };
    if words.left.as_slice().iter().any(|word| word == "--help") {
        println!("{}", suite.usage);
        return ExitCode::SUCCESS;
    }
    test_support::android::name_directory(suite.name);
    match catch_unwind(AssertUnwindSafe(|| (suite.run)(&mut words))) {
        Ok(Ok(ended)) => ended.print(suite.name),
        Ok(Err(fault)) => {
            eprintln!("{name}: {fault}\n{}", suite.usage);
            ExitCode::from(2)
        }
        Err(_) => Ended::claim(false, "the suite itself failed".to_owned()).print(suite.name),
    }
}

/// The words of a command line, read one by one.
pub(crate) struct Words {
    left: std::vec::IntoIter<String>,
    /// The word that was read last, whose value may follow.
    option: String,
}

impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let word = self.left.next()?;
        self.option.clone_from(&word);
        Some(word)
    }
}

impl Words {
    /// Reads the value of the option that was read last.
    pub(crate) fn value(&mut self) -> Result<String, String> {
        self.left.next().ok_or_else(|| format!("{} takes a value", self.option))
    }

    /// Reads its value as a number.
    pub(crate) fn number<N: FromStr>(&mut self) -> Result<N, String> {
        let text = self.value()?;
        text.parse().map_err(|_| format!("{}: {text} is no number", self.option))
    }
}

/// The cases that a command line names: each by a part of its name, with or without the suite in front.
#[derive(Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// Adds a word that is no known option.
    pub(crate) fn add(&mut self, word: String) -> Result<(), String> {
        if word.starts_with('-') {
            return Err(format!("unknown option {word}"));
        }
        self.0.push(word);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the named cases, or all without a name. None is an error: a run of nothing proves nothing.
    pub(crate) fn choose<C>(
        &self,
        suite: &Suite,
        cases: impl IntoIterator<Item = C>,
        name: impl Fn(&C) -> String,
    ) -> Result<Vec<C>, String> {
        let is_named = |case: &C| {
            let name = format!("{} {}", suite.name, name(case));
            self.is_empty() || self.0.iter().any(|part| name.contains(part.as_str()))
        };
        let chosen: Vec<C> = cases.into_iter().filter(is_named).collect();
        if chosen.is_empty() {
            return Err(format!("no case has {} in its name", self.0.join(" or ")));
        }
        Ok(chosen)
    }
}

/// The directory of a suite's sources and data.
pub(crate) fn directory(suite: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(suite)
}

/// Fails the suite if its `labels.jsonl` is not the text that its generator makes. Labels are under version control, so that a
/// change of the generator shows which answers it expects now.
pub(crate) fn check_labels(suite: &Suite, made: &str) {
    let file = directory(suite.name).join("labels.jsonl");
    if std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&file, made).unwrap();
    }
    let is_current = std::fs::read_to_string(&file).is_ok_and(|there| there == made);
    assert!(is_current, "labels.jsonl is not what the generator makes: ANRSCOPE_WRITE_DOCS=1 writes it");
}

/// Runs all cases, `at_once` of them at a time, and returns what `ended` makes of the results, in the order of the cases.
///
/// `ended` gets a result as soon as it is there, one at a time, so that the lines it prints stay together. A case that panics
/// has no result; its message is on stderr, and the others go on.
pub(crate) fn each<C: Sync, R, E: Send>(
    at_once: usize,
    cases: &[C],
    run: impl Fn(&C) -> R + Sync,
    ended: impl FnMut(&C, Option<R>) -> E + Send,
) -> Vec<E> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new((ended, Vec::with_capacity(cases.len())));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { break };
            let result = catch_unwind(AssertUnwindSafe(|| run(case))).ok();
            let (ended, results) = &mut *all.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((at, ended(case, result)));
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    let (_, mut results) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
