//! What the fuzz targets share: a bound on memory, recordings in a form that is good to mutate, and all that the program does
//! with a recording.
//!
//! The targets are in `targets/`, one for each reader of bytes that come from outside. A panic, an overflow, memory beyond the
//! bound and a run of more than a minute are findings. `scripts/prove fuzz` builds them with the counters that libFuzzer is
//! guided by, which a stable compiler can do as well, and gives them the repository's own files as seeds.

pub mod folded;
mod memory;
pub mod recording;

pub use memory::bounded;
