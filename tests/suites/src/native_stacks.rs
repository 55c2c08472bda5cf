//! Programs that record their own call chains: their stacks, unwound and compared with what they recorded.
//!
//! One for each machine, language, level of optimisation and choice of frame pointers. x86_64 runs here, ARM in qemu-user.
//! Fails where less than 99.5 % of the stacks (armv7: 98 %) are right to the root, or more than 0.1 % are wrong.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Instant;

use test_support::unwinding::generate::Language;
use test_support::unwinding::{Build, Count, Limits, Tally, prove};

use crate::harness::{self, Ended, Names, Suite, Words};

pub(crate) const SUITE: Suite = Suite {
    name: "native_stacks",
    usage: "native_stacks [--full] [--seed N] [--jobs N] [--keep] [NAME...]
    --full       150 chains of each program, and x86_64 also by libunwind, to compare with, else 20
    --seed       another one gives other programs
    --jobs       programs at once
    --keep       keeps the programs and their captures in the directory that it prints
    NAME         only programs whose name contains one of these: arm, aarch64-pac-C++-O2 and so on",
    run,
};

const MACHINES: [&str; 4] = ["x86_64", "aarch64", "aarch64-pac", "arm"];
/// Chains of each program, in short and with `--full`.
const CHAINS: [usize; 2] = [20, 150];
/// Most failures of a machine that are printed.
const FAILURES: usize = 5;

struct Options {
    full: bool,
    seed: u64,
    jobs: usize,
    keep: bool,
    names: Names,
}

fn options(words: &mut Words) -> Result<Options, String> {
    let mut options = Options { full: false, seed: 1, jobs: 2, keep: false, names: Names::default() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => options.full = true,
            "--seed" => options.seed = words.number()?,
            "--jobs" => options.jobs = words.number()?,
            "--keep" => options.keep = true,
            _ => options.names.add(word)?,
        }
    }
    Ok(options)
}

fn name(build: &Build) -> String {
    let (machine, language, level, frame_pointers) = build.row();
    format!("{machine}-{language}-O{level}-{}", if frame_pointers { "fp" } else { "no-fp" })
}

fn builds(seed: u64) -> Vec<Build> {
    let mut all = Vec::new();
    for machine in MACHINES {
        // Rust's own library is not there for other machines.
        let rust = (machine == "x86_64").then_some(Language::Rust);
        let signed = machine == "aarch64-pac";
        let machine = if signed { "aarch64" } else { machine };
        for language in [Language::C, Language::Cpp].into_iter().chain(rust) {
            for level in 0..=3 {
                for frame_pointers in [true, false] {
                    let seed = seed * 1_000_000 + all.len() as u64;
                    all.push(Build { machine, language, level, frame_pointers, signed, seed });
                }
            }
        }
    }
    all
}

/// The results of all programs, by program and by machine.
#[derive(Default)]
struct Results {
    rows: BTreeMap<(String, &'static str, u8, bool), Tally>,
    machines: BTreeMap<String, Tally>,
    /// Programs that were not built, or did not run.
    broken: usize,
}

impl Results {
    fn add(&mut self, build: &Build, result: Result<Tally, String>) {
        match result {
            Ok(tally) => {
                let mut row = Tally { ours: tally.ours, peers: tally.peers, ..Tally::default() };
                row.deepest = tally.deepest;
                self.rows.entry(build.row()).or_default().merge(row);
                self.machines.entry(build.row().0).or_default().merge(tally);
            }
            Err(error) => {
                self.broken += 1;
                eprintln!("{error}");
            }
        }
    }
}

fn run(words: &mut Words) -> Result<Ended, String> {
    let options = options(words)?;
    let builds = options.names.choose(&SUITE, builds(options.seed), name)?;
    let begin = Instant::now();
    let directory = std::env::temp_dir().join(format!("native-stacks-{}", std::process::id()));
    let chains = CHAINS[usize::from(options.full)];
    let mut results = Results::default();
    harness::each(
        options.jobs.max(1),
        &builds,
        |build| prove(build, &directory, chains, options.full && build.machine == "x86_64", options.keep),
        |build, result| results.add(build, result.unwrap_or_else(|| Err(format!("{build:?} failed")))),
    );
    if options.keep {
        println!("{}", directory.display());
    } else {
        let _ = std::fs::remove_dir_all(&directory);
    }
    print_rows(&results);
    print_failures(&results);
    let limits = if options.full { Limits::of } else { Limits::of_few };
    let mut all_hold = results.broken == 0;
    for (machine, tally) in &results.machines {
        let holds = limits(machine).hold(tally);
        println!("{}: {}", summary(machine, tally), if holds { "ok" } else { "FAILED" });
        all_hold &= holds;
    }
    print_speed(&results);
    let stacks: u64 = results.machines.values().map(|tally| tally.ours.all).sum();
    let figure = format!("{stacks} stacks of {} programs in {} s", builds.len(), begin.elapsed().as_secs());
    Ok(Ended::claim(all_hold, figure))
}

fn summary(machine: &str, tally: &Tally) -> String {
    let ours = &tally.ours;
    let peer = |name: &str, count: &Count| match count.all {
        0 => String::new(),
        _ => format!(
            "; {name} {:.2} % right, {:.2} % wrong",
            count.percent(count.right),
            count.percent(count.wrong)
        ),
    };
    format!(
        "{machine}: {} of {} stacks right to the root ({:.2} %), {} short, {} wrong ({:.2} %), {} said to be complete though not right, \
         {} right but said to be cut; {} different chains, up to {} functions{}{}",
        ours.right,
        ours.all,
        ours.percent(ours.right),
        ours.short,
        ours.wrong,
        ours.percent(ours.wrong),
        tally.claimed,
        tally.unsure,
        tally.chains.len(),
        tally.deepest,
        peer("libunwind", &tally.peers[0]),
        peer("libgcc", &tally.peers[1]),
    )
}

/// Emulated programs say nothing of a machine's speed.
fn print_speed(results: &Results) {
    let Some(tally) = results.machines.get("x86_64") else { return };
    let names = ["ours, from the copy, each stack once", "libunwind in the process", "libgcc in the process"];
    for (name, (frames, ns)) in names.iter().zip(tally.speed) {
        if ns > 0 {
            println!("x86_64, {name}: {:.0} frames a millisecond", frames as f64 * 1e6 / ns as f64);
        }
    }
}

fn print_rows(results: &Results) {
    println!(
        "machine      language  level  frame pointers   stacks   right %   short %   wrong %   libunwind %   libgcc %"
    );
    for ((machine, language, level, frame_pointers), tally) in &results.rows {
        let ours = &tally.ours;
        let peer = |i: usize| {
            let count: &Count = &tally.peers[i];
            if count.all == 0 { "-".to_owned() } else { format!("{:.2}", count.percent(count.right)) }
        };
        println!(
            "{machine:<12} {language:<9} O{level:<5} {:<14} {:>8} {:>9.2} {:>9.2} {:>9.2} {:>13} {:>10}",
            if *frame_pointers { "yes" } else { "no" },
            ours.all,
            ours.percent(ours.right),
            ours.percent(ours.short),
            ours.percent(ours.wrong),
            peer(0),
            peer(1),
        );
    }
}

/// Prints the places where unwinding went wrong, and some of the stacks.
fn print_failures(results: &Results) {
    for tally in results.machines.values() {
        let mut causes: Vec<_> = tally.causes.iter().collect();
        causes.sort_by_key(|(_, count)| Reverse(**count));
        for (cause, count) in causes.iter().take(40) {
            println!("{count:>6}  {cause}");
        }
        for failure in tally.failures.iter().take(FAILURES) {
            println!("{failure}");
        }
    }
}
