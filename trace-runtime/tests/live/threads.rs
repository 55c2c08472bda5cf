//! Threads that start and end. `scripts/prove threads` runs it for a minute.

use std::path::Path;
use std::time::Duration;

use test_support::churn;

#[test]
fn a_thousand_threads_leak_no_block_and_leave_mains_record_intact() {
    let directory = churn::directory(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let seen = churn::run(&directory, Duration::from_secs(2), 1_000);
    let _ = std::fs::remove_dir_all(&directory);
    // More than the pool has blocks: every block changed owners.
    assert!(seen.threads > 4_000 && seen.most_alive > 1 && seen.slices > 0, "{seen:?}");
}
