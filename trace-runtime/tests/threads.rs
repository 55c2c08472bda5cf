//! Threads that come and go. `scripts/prove threads` does it for a minute.

mod churn;

use std::path::Path;
use std::time::Duration;

#[test]
fn a_thousand_threads_starting_and_ending_leak_no_block_and_leave_main_alone() {
    let folder = churn::folder(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let seen = churn::run(&folder, Duration::from_secs(2), 1_000);
    let _ = std::fs::remove_dir_all(&folder);
    // More than the pool has blocks: every block changed hands.
    assert!(seen.threads > 4_000 && seen.most_alive > 1 && seen.slices > 0, "{seen:?}");
}
