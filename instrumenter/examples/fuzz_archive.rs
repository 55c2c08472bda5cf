//! Feeds broken archives to the instrumenter for a while: none may crash it, and what others could
//! read they must still be able to.
//!
//! ```text
//! cargo run --release -p instrumenter --example fuzz_archive -- --seconds 600 [--seed N]
//! ```
//!
//! Prints how many archives there were, and how many were accepted. For each fault it prints the seed,
//! with which `--seed` begins, and where the archive lies that did it.

use std::io::{Cursor, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use instrumenter::{Input, MapPaths, Options, instrument};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn sample(inner: Option<&[u8]>) -> Vec<u8> {
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let methods = [CompressionMethod::Stored, CompressionMethod::Deflated];
    for (number, method) in methods.into_iter().enumerate() {
        let options = SimpleFileOptions::default().compression_method(method).large_file(number == 1);
        let _ = out.start_file(format!("{number}/A.class"), options);
        let _ = out.write_all(b"\xCA\xFE\xBA\xBE\0\0\0\x34 and no more of a class");
    }
    if let Some(inner) = inner {
        let _ = out.start_file("classes.jar", SimpleFileOptions::default());
        let _ = out.write_all(inner);
    }
    let _ = out.set_comment("a comment");
    out.finish().map(Cursor::into_inner).unwrap_or_default()
}

/// Changes some bytes: often to values that mean something, and mostly in the directory.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const VALUES: [u8; 8] = [0, 1, 8, 0x50, 0x4B, 0x7F, 0x80, 0xFF];
    for _ in 0..=random.below(6) {
        let length = bytes.len();
        let at = match random.below(3) {
            0 => random.below(length),
            _ => length - 1 - random.below(length.min(400)),
        };
        match random.below(8) {
            0 => bytes.truncate(at.max(1)),
            1 => {
                let copied: Vec<u8> = bytes.iter().skip(at).take(random.below(64)).copied().collect();
                let to = random.below(length);
                bytes.splice(to..to, copied);
            }
            2 => (0..4).for_each(|more| {
                if let Some(byte) = bytes.get_mut(at + more) {
                    *byte = 0xFF;
                }
            }),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = match random.below(2) {
                        0 => VALUES[random.below(VALUES.len())],
                        _ => random.next() as u8,
                    };
                }
            }
        }
    }
}

/// Whether the archive was accepted.
fn run(bytes: &[u8], folder: &Path, name: &str) -> Result<bool, String> {
    let (from, to) = (folder.join(name), folder.join("out").join(name));
    std::fs::write(&from, bytes).map_err(|error| error.to_string())?;
    let options = Options { threads: 1, ..Options::default() };
    let maps = MapPaths::beside(folder.join("methodMapping.txt"));
    if instrument(&[Input::new(&from, &to)], &maps, &options, &|_| {}).is_err() {
        return Ok(false);
    }
    let written = std::fs::read(&to).map_err(|error| error.to_string())?;
    if ZipArchive::new(Cursor::new(bytes)).is_ok() {
        ZipArchive::new(Cursor::new(written))
            .map_err(|error| format!("the output is no archive: {error}"))?;
    }
    Ok(true)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str, default: u64| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let (seconds, first) = (value("--seconds", 60), value("--seed", 1));
    let folder = std::env::temp_dir().join(format!("anrscope-fuzz-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        eprintln!("error: {}: {error}", folder.display());
        return ExitCode::from(2);
    }
    let jar = sample(None);
    let aar = sample(Some(&jar));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut seed, mut accepted) = (first, 0_u64);
    let mut code = ExitCode::SUCCESS;
    while Instant::now() < end {
        let mut random = Random(seed);
        let (mut bytes, name) =
            if random.below(2) == 0 { (jar.clone(), "in.jar") } else { (aar.clone(), "in.aar") };
        mutate(&mut bytes, &mut random);
        let caught = std::panic::catch_unwind(|| run(&bytes, &folder, name));
        let fault = match caught {
            Ok(Ok(was_accepted)) => {
                accepted += u64::from(was_accepted);
                None
            }
            Ok(Err(error)) => Some(error),
            Err(_) => Some("crashed".to_owned()),
        };
        if let Some(fault) = fault {
            let kept = folder.with_extension(format!("{seed}.jar"));
            let _ = std::fs::write(&kept, &bytes);
            println!("seed {seed}: {fault}: {}", kept.display());
            code = ExitCode::FAILURE;
        }
        seed += 1;
    }
    println!("{} archives from seed {first} on, {accepted} accepted", seed - first);
    let _ = std::fs::remove_dir_all(&folder);
    code
}
