//! Fuzzes the readers of the texts that a user may give: the mapping of an obfuscator, rules files,
//! block lists and base maps.
//!
//! ```text
//! cargo run --release -p instrumenter --example fuzz_texts -- MINUTES SEED CLASS-FOLDER
//! ```
//!
//! Each mutant of a sample is given to a whole run over the class files of the folder (few ones: a run
//! for each text). Prints how many were tried and how many of them were refused. A text that makes the
//! program panic, or takes longer than two seconds, is written to `fuzz-failure-SEED.txt` in the
//! working folder, and the program fails.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use instrumenter::{Input, MapPaths, Options, instrument};

#[path = "fuzz/random.rs"]
mod random;
#[path = "fuzz/samples.rs"]
mod samples;

use random::Random;
use samples::{BASE_MAP, BLOCK_LIST, MAPPING, RULES};

const SLOW: Duration = Duration::from_secs(2);

/// What means something to one of the readers.
const PIECES: [&str; 28] = [
    " -> ",
    ":",
    "(",
    ")",
    "[]",
    "[",
    "*",
    "**",
    "***",
    ".",
    "/",
    "$",
    "-",
    ",",
    "#",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "é",
    "0",
    "65536",
    "4294967295",
    "18446744073709551616",
    "-1",
    "size >= ",
    "<init>",
    "L;",
];

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            1 => {
                let end = (at + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 | 3 => {
                let piece = PIECES[random.below(PIECES.len())].as_bytes();
                let piece = piece.repeat(1 + random.below(3) * random.below(40));
                bytes.splice(at..at, piece);
            }
            4 => {
                let piece: Vec<u8> = bytes.iter().skip(at).take(random.below(120)).copied().collect();
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

/// Whether the text was taken.
fn run(classes: &Path, folder: &Path, kind: usize, text: &[u8]) -> Result<bool, String> {
    let file = folder.join("text");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let mut options = Options { threads: 1, ..Options::default() };
    match kind {
        0 => options.mapping = Some(file),
        1 => options.rules = Some(file),
        2 => options.block_list = Some(file),
        _ => options.base_map = Some(file),
    }
    let out = folder.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let maps = MapPaths::beside(folder.join("methodMapping.txt"));
    match instrument(&[Input::new(classes, &out)], &maps, &options, &|_| {}) {
        Ok(summary) if summary.classes == 0 => Err("no class was looked at".to_owned()),
        outcome => Ok(outcome.is_ok()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [minutes, seed, classes] => {
            minutes.parse::<f64>().ok().zip(seed.parse::<u64>().ok()).map(|(m, s)| (m, s, classes))
        }
        _ => None,
    };
    let Some((minutes, seed, classes)) = parsed else {
        eprintln!("usage: fuzz_texts MINUTES SEED CLASS-FOLDER");
        return ExitCode::from(2);
    };
    let folder = std::env::temp_dir().join(format!("anrscope-fuzz-texts-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("error: {}: {error}", folder.display());
        return ExitCode::from(2);
    }
    let samples = [MAPPING, RULES, BLOCK_LIST, BASE_MAP];
    let mut random = Random::seeded(seed);
    let start = Instant::now();
    let (mut tried, mut refused, mut slowest) = ([0_u64; 4], [0_u64; 4], Duration::ZERO);
    let mut code = ExitCode::SUCCESS;
    while start.elapsed().as_secs_f64() < minutes * 60.0 {
        let kind = random.below(samples.len());
        let mut text = samples[kind].as_bytes().to_vec();
        mutate(&mut text, &mut random);
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(|| run(Path::new(classes), &folder, kind, &text));
        let taken = begun.elapsed();
        (tried[kind], slowest) = (tried[kind] + 1, slowest.max(taken));
        match outcome {
            Ok(Ok(was_taken)) if taken < SLOW => refused[kind] += u64::from(!was_taken),
            other => {
                let name = format!("fuzz-failure-{seed}.txt");
                let _ = std::fs::write(&name, &text);
                eprintln!("text {tried:?} of seed {seed}, kind {kind}: {taken:?}, {other:?}, see {name}");
                code = ExitCode::FAILURE;
                break;
            }
        }
    }
    let mut out = std::io::stdout().lock();
    for (kind, name) in ["mappings", "rules files", "block lists", "base maps"].iter().enumerate() {
        let _ = writeln!(out, "{} {name}, {} refused", tried[kind], refused[kind]);
    }
    let _ =
        writeln!(out, "in {:.1} min, seed {seed}; slowest {slowest:?}", start.elapsed().as_secs_f64() / 60.0);
    let _ = std::fs::remove_dir_all(&folder);
    code
}
