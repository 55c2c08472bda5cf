//! Writes a directory of recordings for `scripts/prove fleet`: the synthetic cases of the causes, repeatedly.
//!
//! `make_fleet DIRECTORY COUNT`

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "make_fleet DIRECTORY COUNT";
    let directory = PathBuf::from(arguments.next().expect(usage));
    let count: usize = arguments.next().and_then(|n| n.into_string().ok()?.parse().ok()).expect(usage);
    let (cases, _) =
        test_support::scenario::cases(include_str!("../../../../exporter/tests/data/causes.txt"));
    for n in 0..count {
        // The first ones occur more often, so that groups differ in size.
        let case = &cases[(n * n / 7) % (1 + n % cases.len())];
        let (bytes, map) = test_support::scenario::built(case);
        let own = directory.join(&case.name);
        std::fs::create_dir_all(&own)?;
        std::fs::write(own.join("methodMapping.txt"), map)?;
        std::fs::write(own.join(format!("{n:05}.anrscope")), bytes)?;
    }
    Ok(())
}
