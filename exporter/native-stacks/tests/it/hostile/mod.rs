//! Damaged files and captures: no panic, and bounded memory and time. The fuzzer runs the same bodies, see `tests/fuzz/`.

use std::time::{Duration, Instant};
use test_support::bodies::native;
use test_support::memory;

/// Memory that an input may take, as the fuzzer has it.
const MAX_BYTES: usize = 64 << 20;
/// Damaged forms of each input.
const FORMS: u64 = 250;

/// A random generator: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }
}

/// Damages some bytes, mostly those of headers and tables, and sometimes cuts the input or repeats a part of it.
fn damage(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..=random.below(12) {
        let at = match random.below(3) {
            0 => random.below(damaged.len().min(1_200)),
            1 => damaged.len() - 1 - random.below(damaged.len().min(2_600)),
            _ => random.below(damaged.len()),
        };
        damaged[at] = [0, 1, 0x7f, 0x80, 0xff, damaged[at] ^ 1, damaged[at].wrapping_add(1)][random.below(7)];
    }
    match random.below(12) {
        0 => damaged.truncate(1 + random.below(damaged.len())),
        1 => {
            let part = random.below(damaged.len())..damaged.len();
            damaged.extend_from_within(part);
        }
        _ => {}
    }
    damaged
}

/// Widens the count of each file's table of unwind data to 8 bytes, so that its upper half is what follows.
fn with_huge_tables(inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    // The header of `.eh_frame_hdr` as linkers write it, up to the count's size.
    let header = [1, 0x1b, 3, 0x3b];
    let widened = inputs.iter().filter_map(|input| {
        let at = input.windows(4).position(|bytes| bytes == header)?;
        let mut widened = input.clone();
        widened[at + 2] = 4;
        Some(widened)
    });
    widened.collect()
}

/// Runs a body on an input and on damaged forms of it.
fn check(name: &str, body: fn(&[u8]), inputs: &[Vec<u8>]) {
    let mut random = Random(20);
    for (number, input) in inputs.iter().enumerate() {
        for form in 0..=FORMS {
            let bytes = if form == 0 { input.clone() } else { damage(input, &mut random) };
            let begin = Instant::now();
            let used = memory::taken_by(|| body(&bytes));
            let taken = begin.elapsed();
            let what = format!("{name}, input {number}, form {form}");
            assert!(used <= MAX_BYTES + 256 * bytes.len(), "{what}: {used} bytes for {}", bytes.len());
            assert!(taken < Duration::from_secs(20), "{what}: {taken:?}");
        }
    }
}

// One test: memory is counted for the whole process.
#[test]
fn damaged_files_and_captures_are_read_within_bounds() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let (named, mut unwound) = native::samples(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(named.len() >= 5 && unwound.len() >= 8, "this machine's compiler makes some");
    let huge = with_huge_tables(&unwound);
    assert!(!huge.is_empty(), "linkers make such tables");
    unwound.extend(huge);
    check("symbols", native::symbols, &named);
    check("unwind", native::unwind, &unwound);
}
