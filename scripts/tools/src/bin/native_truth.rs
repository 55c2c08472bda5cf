//! Generates programs that record their own call chains, unwinds the stacks that they capture of themselves, and compares.
//!
//!   native_truth [--machine NAME,...] [--programs N] [--count N] [--seed N] [--jobs N] [--directory DIR] [--keep] [--libunwind]
//!                [--only N] [--failures N]
//!
//! For each machine (x86_64, aarch64, aarch64-pac, arm, riscv64), language, level of optimisation and choice of frame pointers: N programs
//! with N captures each. Fails where less than 99.5 % of the stacks (armv7: 98 %) are right to the root, or more than 0.1 % are wrong.
//! `--libunwind` links the programs of x86_64 with it, to compare with. `--only SEED` runs the program of this seed alone, as it was named.

// Of the harness, a file of native-stacks, which reads symbols with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::exit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use test_support::unwinding::generate::Language;
use test_support::unwinding::{Build, Tally, prove};

const MACHINES: [&str; 5] = ["x86_64", "aarch64", "aarch64-pac", "arm", "riscv64"];

struct Options {
    machines: Vec<&'static str>,
    programs: u64,
    count: usize,
    seed: u64,
    jobs: usize,
    directory: PathBuf,
    keep: bool,
    libunwind: bool,
    only: Option<u64>,
    failures: usize,
}

fn usage() -> ! {
    eprintln!(
        "usage: native_truth [--machine NAME,...] [--programs N] [--count N] [--seed N] [--jobs N] [--directory DIR] [--keep] \
         [--libunwind] [--only SEED] [--failures N]"
    );
    exit(2);
}

fn options() -> Options {
    let mut options = Options {
        machines: MACHINES.to_vec(),
        programs: 1,
        count: 150,
        seed: 1,
        jobs: 2,
        directory: std::env::temp_dir().join(format!("native-truth-{}", std::process::id())),
        keep: false,
        libunwind: false,
        only: None,
        failures: 5,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "--keep" => options.keep = true,
            "--libunwind" => options.libunwind = true,
            _ => {
                let value = arguments.next().unwrap_or_else(|| usage());
                let number = || value.parse().unwrap_or_else(|_| usage());
                match flag.as_str() {
                    "--machine" => {
                        let find = |name| MACHINES.into_iter().find(|machine| *machine == name);
                        options.machines =
                            value.split(',').map(|name| find(name).unwrap_or_else(|| usage())).collect();
                    }
                    "--programs" => options.programs = number(),
                    "--count" => options.count = usize::try_from(number()).expect("fits"),
                    "--seed" => options.seed = number(),
                    "--jobs" => options.jobs = usize::try_from(number()).expect("fits"),
                    "--only" => options.only = Some(number()),
                    "--failures" => options.failures = usize::try_from(number()).expect("fits"),
                    "--directory" => options.directory = PathBuf::from(&value),
                    _ => usage(),
                }
            }
        }
    }
    options
}

fn builds(options: &Options) -> Vec<Build> {
    let mut all = Vec::new();
    for &machine in &options.machines {
        // Rust's own library is not there for other machines.
        let rust = (machine == "x86_64").then_some(Language::Rust);
        for language in [Language::C, Language::Cpp].into_iter().chain(rust) {
            for level in 0..=3 {
                for frame_pointers in [true, false] {
                    for program in 0..options.programs {
                        let seed = options.seed * 1_000_000 + program * 1_000 + all.len() as u64;
                        let signed = machine == "aarch64-pac";
                        let machine = if signed { "aarch64" } else { machine };
                        all.push(Build { machine, language, level, frame_pointers, signed, seed });
                    }
                }
            }
        }
    }
    all.retain(|build| options.only.is_none_or(|seed| build.seed == seed));
    all
}

fn main() {
    let options = options();
    let begin = Instant::now();
    let builds = builds(&options);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(build) = builds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let libunwind = options.libunwind && build.machine == "x86_64";
                    let result = prove(build, &options.directory, options.count, libunwind, options.keep);
                    results.lock().expect("no panic").push((build.clone(), result));
                }
            });
        }
    });
    if !options.keep {
        let _ = std::fs::remove_dir_all(&options.directory);
    }
    let mut rows: BTreeMap<_, Tally> = BTreeMap::new();
    let mut machines: BTreeMap<String, Tally> = BTreeMap::new();
    let mut broken = 0;
    let mut results = results.into_inner().expect("no panic");
    results.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (build, result) in results {
        match result {
            Ok(tally) => {
                let mut row = Tally { ours: tally.ours, peers: tally.peers, ..Tally::default() };
                row.deepest = tally.deepest;
                rows.entry(build.row()).or_default().merge(row);
                machines.entry(build.row().0).or_default().merge(tally);
            }
            Err(error) => {
                broken += 1;
                eprintln!("{error}");
            }
        }
    }
    print(&rows, &machines, options.failures);
    let mut failed = broken > 0;
    let mut all = 0;
    for (machine, tally) in &machines {
        let ours = &tally.ours;
        all += ours.all;
        let (right, wrong) = (ours.percent(ours.right), ours.percent(ours.wrong));
        let ok = test_support::unwinding::Limits::of(machine).hold(tally);
        failed |= !ok;
        let peer = |name: &str, i: usize| {
            let count: &test_support::unwinding::Count = &tally.peers[i];
            if count.all == 0 {
                return String::new();
            }
            format!(
                "; {name} {:.2} % right, {:.2} % wrong",
                count.percent(count.right),
                count.percent(count.wrong)
            )
        };
        println!(
            "{machine}: {} of {} stacks right to the root ({right:.2} %), {} short, {} wrong ({wrong:.2} %), {} said to be complete though not right, \
             {} right but said to be cut; {} different chains, up to {} functions{}{}: {}",
            ours.right,
            ours.all,
            ours.short,
            ours.wrong,
            tally.claimed,
            tally.unsure,
            tally.chains.len(),
            tally.deepest,
            peer("libunwind", 0),
            peer("libgcc", 1),
            if ok { "ok" } else { "FAILED" },
        );
    }
    // Emulated programs say nothing of a machine's speed.
    if let Some(tally) = machines.get("x86_64") {
        let names =
            ["ours, from the copy, each stack once", "libunwind in the process", "libgcc in the process"];
        for (name, (frames, ns)) in names.iter().zip(tally.speed) {
            if ns > 0 {
                println!("x86_64, {name}: {:.0} frames a millisecond", frames as f64 * 1e6 / ns as f64);
            }
        }
    }
    println!("{all} stacks of {} programs in {} s", builds.len(), begin.elapsed().as_secs());
    if failed {
        exit(1);
    }
}

fn print(
    rows: &BTreeMap<(String, &'static str, u8, bool), Tally>,
    machines: &BTreeMap<String, Tally>,
    failures: usize,
) {
    println!(
        "machine      language  level  frame pointers   stacks   right %   short %   wrong %   libunwind %   libgcc %"
    );
    for ((machine, language, level, frame_pointers), tally) in rows {
        let ours = &tally.ours;
        let peer = |i: usize| {
            let count: &test_support::unwinding::Count = &tally.peers[i];
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
    for tally in machines.values() {
        let mut causes: Vec<_> = tally.causes.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (cause, count) in causes.iter().take(40) {
            println!("{count:>6}  {cause}");
        }
        for failure in tally.failures.iter().take(failures) {
            println!("{failure}");
        }
    }
}
