//! Shared code of the fuzz targets: a memory bound, a form of recordings that suits mutation, and every use of a recording.
//!
//! The targets are in `targets/`, one for each reader of untrusted bytes. A panic, an overflow, memory beyond the bound and a
//! run of more than a minute are findings. `scripts/prove fuzz` builds them with the coverage counters that guide libFuzzer,
//! which a stable compiler supports as well, and uses the repository's own files as seeds.

pub mod folded;
#[path = "../../trace-format/examples/corrupt/memory.rs"]
mod memory;
pub mod recording;

/// Memory that a reader may use for an input of any length, bytes.
const BASE_BYTES: usize = 64 << 20;

/// Runs `body` on an input of `length` bytes.
///
/// # Panics
/// If it takes more than 64 MiB plus `times` the length of its input.
pub fn bounded(length: usize, times: usize, body: impl FnOnce()) {
    let used = memory::taken_by(body);
    let bound = BASE_BYTES + times * length;
    assert!(used <= bound, "{used} bytes of memory for an input of {length}: {bound} are allowed");
}
