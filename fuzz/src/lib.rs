//! What the fuzz targets share: a bound on memory, recordings in a form that is good to mutate, and all that the program does
//! with a recording.
//!
//! The targets are in `targets/`, one for each reader of bytes that come from outside. A panic, an overflow, memory beyond the
//! bound and a run of more than a minute are findings. `scripts/prove fuzz` builds them with the counters that libFuzzer is
//! guided by, which a stable compiler can do as well, and gives them the repository's own files as seeds.

pub mod folded;
#[path = "../../trace-format/examples/corrupt/memory.rs"]
mod memory;
pub mod recording;

/// What a reader may take however short its input is.
const BASE: usize = 64 << 20;

/// Runs `body` on an input of `length` bytes.
///
/// # Panics
/// If it takes more than 64 MiB and `times` its input.
pub fn bounded(length: usize, times: usize, body: impl FnOnce()) {
    let used = memory::taken_by(body);
    let bound = BASE + times * length;
    assert!(used <= bound, "{used} bytes of memory for an input of {length}: {bound} are allowed");
}
