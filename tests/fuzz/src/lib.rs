//! Shared code of the fuzz targets: bounds on memory and CPU time, a form of recordings that suits mutation, and every use of
//! a recording.
//!
//! The targets are in `targets/`, one for each reader of untrusted bytes. A panic, an overflow, memory or CPU time beyond
//! the bound are findings. `scripts/prove fuzz` builds them with the coverage counters that guide libFuzzer,
//! which a stable compiler supports as well, and uses the repository's own files as seeds.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use test_support::memory;

pub mod folded;
pub mod recording;

/// Memory that a reader may use for an input of any length, bytes.
const BASE_BYTES: usize = 64 << 20;

/// CPU time that a reader may use for an input, which has 64 KiB at most. A busy machine does not lengthen it.
const MAX_CPU_TIME: Duration = Duration::from_secs(20);

/// Runs `body` on an input of `length` bytes.
///
/// # Panics
/// If it takes more than 64 MiB plus `times` the length of its input, or more than 20 s of CPU time.
pub fn bounded(length: usize, times: usize, body: impl FnOnce()) {
    let start = cpu_time();
    let used = memory::taken_by(body);
    let taken = cpu_time() - start;
    assert!(taken <= MAX_CPU_TIME, "{taken:?} of CPU time for an input of {length} bytes");
    let bound = BASE_BYTES + times * length;
    assert!(used <= bound, "{used} bytes of memory for an input of {length}: {bound} are allowed");
}

/// CPU time of this process, with all its threads.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the process has a clock").into()
}
