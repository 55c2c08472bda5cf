//! Fuzzes the dump reader, its page and JSON, and the mapping reader, with mutants of real texts:
//!
//! ```text
//! cargo run --release -p anrscope-exporter --example fuzz_dump -- MINUTES SEED [DIRECTORY...]
//! ```
//!
//! Texts are taken from the directories (a `mapping` in the path makes them mappings), and without one from what
//! the tests use. Prints how many mutants were tried and the slowest one. A mutant that panics, or takes
//! longer than two seconds, is written to `fuzz-failure-SEED.txt` in the working directory, and the program fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../tests/dump/fuzz_body.rs"]
mod fuzz_body;

#[path = "../../instrumenter/examples/fuzz/random.rs"]
mod random;

use random::Random;

const SLOW: Duration = Duration::from_secs(2);
/// An excerpt of a longer text is used, for more mutants per second.
const PART: usize = 48 << 10;
/// Tokens on which the formats depend.
const WORDS: [&str; 32] = [
    "\n",
    "\n\n",
    "\"",
    "\" prio=",
    " tid=",
    "sysTid=",
    "----- pid 1 at x -----\n",
    "----- end 1 -----\n",
    "- waiting to lock <0x",
    "> (a ",
    ") held by thread ",
    "- locked <",
    "at ",
    "(",
    ")",
    ":",
    "| ",
    "=",
    "native: #00 pc ",
    "kernel: ",
    "(BuildId: ",
    "#",
    "99999999999999999999",
    "18446744073709551615",
    "4294967295",
    "-1",
    "0",
    "\u{fffd}",
    "\0",
    " -> ",
    "1:65535:",
    "Thread:1\n->0x1 5\n<-",
];

fn texts(path: &Path, found: &mut Vec<(bool, Vec<u8>)>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            texts(&entry, found)?;
        } else if entry.extension().is_some_and(|end| end == "txt") {
            found.push((entry.to_string_lossy().contains("mapping"), std::fs::read(entry)?));
        }
    }
    Ok(())
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(12) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.next() as u8),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
            2 | 3 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            4 => {
                let end = (at + random.below(200)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                let from = random.below(other.len());
                let piece: Vec<u8> = other.iter().skip(from).take(random.below(400)).copied().collect();
                bytes.splice(at..at, piece);
            }
            6 => {
                let piece: Vec<u8> = bytes.iter().skip(at).take(random.below(400)).copied().collect();
                for _ in 0..1 + random.below(20) {
                    bytes.splice(at..at, piece.iter().copied());
                }
            }
            _ => bytes.truncate(bytes.len() - random.below(bytes.len().min(60))),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

/// Whether the run succeeded, and its duration.
fn timed(is_mapping: bool, mutant: &[u8]) -> (bool, Duration) {
    let begun = Instant::now();
    let run = || if is_mapping { fuzz_body::mapping(mutant) } else { fuzz_body::dump(mutant) };
    (std::panic::catch_unwind(run).is_ok(), begun.elapsed())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [minutes, seed, directories @ ..] => {
            minutes.parse::<f64>().ok().zip(seed.parse::<u64>().ok()).map(|(m, s)| (m, s, directories))
        }
        _ => None,
    };
    let Some((minutes, seed, directories)) = parsed else {
        eprintln!("usage: fuzz_dump MINUTES SEED [DIRECTORY...]");
        return ExitCode::from(2);
    };
    let mut samples = Vec::new();
    for directory in directories {
        if let Err(error) = texts(Path::new(directory), &mut samples) {
            eprintln!("cannot read {directory}: {error}");
            return ExitCode::from(2);
        }
    }
    if directories.is_empty() {
        samples.extend(fuzz_body::samples());
    }
    samples.retain(|(_, sample)| !sample.is_empty());
    if samples.is_empty() {
        eprintln!("no texts in there");
        return ExitCode::from(2);
    }
    let mut random = Random::seeded(seed);
    let (start, mut tried, mut slowest) = (Instant::now(), [0_u64; 2], Duration::ZERO);
    while start.elapsed().as_secs_f64() < minutes * 60.0 {
        let (is_mapping, sample) = &samples[random.below(samples.len())];
        let from = random.below(sample.len().saturating_sub(PART));
        let mut mutant = sample[from..(from + PART).min(sample.len())].to_vec();
        let other = &samples[random.below(samples.len())].1;
        mutate(&mut mutant, other, &mut random);
        let (mut outcome, mut taken) = timed(*is_mapping, &mutant);
        // On a busy machine a run may take long once.
        for _ in 0..4 {
            if outcome && taken > SLOW {
                let (again, shorter) = timed(*is_mapping, &mutant);
                (outcome, taken) = (again, taken.min(shorter));
            }
        }
        tried[usize::from(*is_mapping)] += 1;
        slowest = slowest.max(taken);
        if !outcome || taken > SLOW {
            let name = format!("fuzz-failure-{seed}.txt");
            let _ = std::fs::write(&name, &mutant);
            eprintln!("mutant {tried:?} of seed {seed}: {taken:?}, see {name}");
            return ExitCode::FAILURE;
        }
    }
    let [dumps, mappings] = tried;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(
        out,
        "{dumps} mutants of dumps and {mappings} of mappings, from {} texts in {:.1} min, seed {seed}: none panicked; slowest {slowest:?}",
        samples.len(),
        start.elapsed().as_secs_f64() / 60.0
    );
    ExitCode::SUCCESS
}
