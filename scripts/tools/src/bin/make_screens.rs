//! Writes the recordings of `scripts/prove screens` that no program on a host can produce.
//!
//! `make_screens DIRECTORY` writes `busy.anrscope` with its map, in which main computes for too long, and with
//! a thread dump of ART
//! `deadlock.anrscope`, in which three threads wait for each other, and `threads.anrscope`, in whose dump main
//! is one of forty.

use std::path::PathBuf;

/// The cases with a dump, and the one without.
const DUMPS: &str = include_str!("../../../../exporter/tests/data/answers/art-locks.txt");
const RECORDINGS: &str = include_str!("../../../../exporter/tests/data/answers/recordings.txt");
/// Number of threads in the larger dump.
const THREADS: usize = 40;
/// Number of threads that the dump writer adds: the signal catcher, the finalizer and a binder thread.
const ADDED: usize = 3;

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args_os().nth(1).expect("make_screens DIRECTORY"));
    let case = |text: &str, name: &str| {
        let found = test_support::scenario::cases(text).0.into_iter().find(|case| case.name == name);
        found.unwrap_or_else(|| panic!("there is no case {name}"))
    };
    let (busy, map) = test_support::scenario::built(&case(RECORDINGS, "folded-calls-of-one-method"));
    std::fs::write(directory.join("busy.anrscope"), busy)?;
    std::fs::write(directory.join("busy.methodMapping.txt"), map)?;
    let write = |name: &str, lines: &[String]| {
        std::fs::write(
            directory.join(name),
            test_support::recorded::with_dump(&test_support::art::dump(lines), false),
        )
    };
    write("deadlock.anrscope", &case(DUMPS, "deadlock-of-three-with-main").lines)?;
    let mut lines = case(DUMPS, "lock-owner-on-the-network").lines;
    let present = ADDED + lines.iter().filter(|l| l.starts_with("main ") || l.starts_with("thread ")).count();
    for tid in 20..20 + THREADS - present {
        lines.extend([format!("thread {tid} pool-1-thread-{tid} Waiting S"), "+pool-idle".to_owned()]);
    }
    write("threads.anrscope", &lines)
}
