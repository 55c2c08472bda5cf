//! Fuzzes the class parser and the rewriter with mutants of real classes:
//!
//! ```text
//! cargo run --release -p instrumenter --example fuzz_class -- MINUTES SEED CLASS-FOLDER...
//! ```
//!
//! Prints how many mutants were tried and the slowest one. A mutant that panics, or takes longer than
//! two seconds, is written to `fuzz-failure-SEED.class` in the working folder, and the program fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../tests/it/fuzz_body.rs"]
mod fuzz_body;

#[path = "fuzz/random.rs"]
mod random;

use random::Random;

const SLOW: Duration = Duration::from_secs(2);
/// Numbers that sit at the edges of the format's fields.
const EDGES: [u16; 12] = [0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF];

fn classes(path: &Path, found: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            classes(&entry, found)?;
        } else if entry.extension().is_some_and(|end| end == "class") {
            found.push(std::fs::read(entry)?);
        }
    }
    Ok(())
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => {
                let edge = EDGES[random.below(EDGES.len())].to_be_bytes();
                bytes.iter_mut().skip(at).zip(edge).for_each(|(byte, edge)| *byte = edge);
            }
            3 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let from = random.below(other.len());
                let piece: Vec<u8> = other.iter().skip(from).take(random.below(80)).copied().collect();
                bytes.iter_mut().skip(at).zip(piece).for_each(|(byte, new)| *byte = new);
            }
            5 => {
                let piece: Vec<u8> = bytes.iter().skip(at).take(random.below(200)).copied().collect();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(bytes.len() - random.below(bytes.len().min(60))),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

/// Whether all went well, and how long it took.
fn timed(mutant: &[u8]) -> (bool, Duration) {
    let begun = Instant::now();
    let outcome = std::panic::catch_unwind(|| fuzz_body::run(mutant));
    (outcome.is_ok(), begun.elapsed())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [minutes, seed, folders @ ..] if !folders.is_empty() => {
            minutes.parse::<f64>().ok().zip(seed.parse::<u64>().ok()).map(|(m, s)| (m, s, folders))
        }
        _ => None,
    };
    let Some((minutes, seed, folders)) = parsed else {
        eprintln!("usage: fuzz_class MINUTES SEED CLASS-FOLDER...");
        return ExitCode::from(2);
    };
    let mut samples = Vec::new();
    for folder in folders {
        if let Err(error) = classes(Path::new(folder), &mut samples) {
            eprintln!("cannot read {folder}: {error}");
            return ExitCode::from(2);
        }
    }
    samples.retain(|sample| !sample.is_empty());
    if samples.is_empty() {
        eprintln!("no classes in there");
        return ExitCode::from(2);
    }
    let mut random = Random::seeded(seed);
    let (start, mut tried, mut slowest) = (Instant::now(), 0_u64, Duration::ZERO);
    while start.elapsed().as_secs_f64() < minutes * 60.0 {
        let mut mutant = samples[random.below(samples.len())].clone();
        let other = &samples[random.below(samples.len())];
        mutate(&mut mutant, other, &mut random);
        let (mut outcome, mut taken) = timed(&mutant);
        // On a busy machine anything may take long once.
        for _ in 0..4 {
            if outcome && taken > SLOW {
                let (again, shorter) = timed(&mutant);
                (outcome, taken) = (again, taken.min(shorter));
            }
        }
        tried += 1;
        slowest = slowest.max(taken);
        if !outcome || taken > SLOW {
            let name = format!("fuzz-failure-{seed}.class");
            let _ = std::fs::write(&name, &mutant);
            eprintln!("mutant {tried} of seed {seed}: {taken:?}, see {name}");
            return ExitCode::FAILURE;
        }
    }
    let mut out = std::io::stdout().lock();
    let _ = writeln!(
        out,
        "{tried} mutants of {} classes in {:.1} min, seed {seed}: none panicked; slowest {slowest:?}",
        samples.len(),
        start.elapsed().as_secs_f64() / 60.0
    );
    ExitCode::SUCCESS
}
