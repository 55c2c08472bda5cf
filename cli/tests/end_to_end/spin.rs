//! A JVM program whose main thread computes without end and is killed: the report names the method whose loop it is.

use std::time::Duration;

use crate::end_to_end::{busy_until, recordings};
use test_support::program;
use test_support::temp_dir::TempDir;

#[test]
fn a_main_thread_that_computes_until_it_is_killed_is_a_busy_method() {
    let directory = TempDir::new();
    let kept = busy_until(&directory, Duration::from_secs(9), 9);
    let recording = recordings(kept.as_ref()).pop().expect("a recording");
    let page = program::run(["report", recording.to_str().unwrap()]).ok(&[]);
    let head: Vec<_> = page.lines().take(4).collect();
    assert!(head[0].starts_with("Hang in Busy (pid "), "{page}");
    // Other tests use the processors, too: main may have waited for one most of the time, and that is the answer then.
    let runnable = page
        .lines()
        .find_map(|line| line.strip_prefix("  CPU           runnable for ")?.split(' ').next()?.parse().ok());
    let is_starved =
        runnable.is_some_and(|percent: u32| percent >= 66) && head[1].starts_with("Cause: CPU STARVATION (");
    assert!(is_starved || head[1].starts_with("Cause: BUSY METHOD ("), "{page}");
    // By a dump of the loop, or by the recorded call alone.
    let places = ["(Busy.java:11)", "(Busy.java, from line 11)"];
    let place = head[3].strip_prefix("  Main thread   Busy.parseFeed ");
    assert!(place.is_some_and(|place| places.iter().any(|known| place.starts_with(known))), "{page}");
}
