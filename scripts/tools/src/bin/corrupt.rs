//! Damages a large recording many times over and reads it: no panic, no endless loop, bounded memory, and
//! what precedes the damage is read. First a small one is cut after each of its bytes.
//!
//!   corrupt [--count N] [--seconds S] [--seed N]
//!
//! Ends after N cases (100,000 by default) or S seconds, whichever is asked for, and prints what it saw. A
//! failure names its seed and case.

use std::time::{Duration, Instant};

use test_support::damage::{Sample, Tally};

/// Memory that reading may take: what it holds of this sample, several times over.
const BOUND: usize = 4 << 20;

fn main() {
    let (mut count, mut seconds, mut seed) = (None, None, 1);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().and_then(|v| v.parse::<u64>().ok());
        match (flag.as_str(), value) {
            ("--count", Some(n)) => count = Some(n),
            ("--seconds", Some(n)) => seconds = Some(Duration::from_secs(n)),
            ("--seed", Some(n)) => seed = n,
            _ => {
                eprintln!("usage: corrupt [--count N] [--seconds S] [--seed N]");
                std::process::exit(2);
            }
        }
    }
    let count = count.unwrap_or(if seconds.is_some() { u64::MAX } else { 100_000 });
    let begin = Instant::now();
    let small = Sample::build(seed, 450);
    let mut cuts = Tally::default();
    (0..small.len()).for_each(|length| small.cut_and_read(length, &mut cuts));
    println!(
        "corrupt: {} bytes cut after each: {} events before the cuts, all read",
        cuts.cases, cuts.events
    );
    let mut tally = Tally::default();
    let mut scratch = Vec::new();
    let mut most = 0;
    let mut length = 0;
    // A new sample now and then: other sizes, other events.
    'all: for round in 0.. {
        let sample = Sample::build(seed.wrapping_add(round), 5_000 + (round as usize % 7) * 10_000);
        length = length.max(sample.len());
        scratch.clear();
        scratch.reserve(sample.len());
        for case in 0..5_000 {
            if tally.cases == count || seconds.is_some_and(|s| begin.elapsed() >= s) {
                break 'all;
            }
            let used = test_support::memory::taken_by(|| {
                sample.damage_and_read((round << 32) | case, &mut scratch, &mut tally)
            });
            assert!(used <= BOUND, "seed {seed}, round {round}, case {case}: {used} bytes of memory");
            most = most.max(used);
        }
    }
    println!(
        "corrupt: {} cases of up to {length} bytes, seed {seed}: {} refused for their header; {} threads compared, \
         {} events before the damage, all read; {} threads left out because a damaged block claims to be \
         theirs; at most {most} bytes of memory; {:.0} s",
        tally.cases,
        tally.refused,
        tally.threads,
        tally.events,
        tally.claimed,
        begin.elapsed().as_secs_f64()
    );
}
