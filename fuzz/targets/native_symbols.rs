//! ELF files with symbols, DWARF and mini debug info, and Breakpad's symbol files: what `--symbols DIR` may hold.
#![no_main]

#[path = "../../native-stacks/tests/hostile/fuzz_body.rs"]
#[allow(dead_code, reason = "each target uses a part of it")]
mod fuzz_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || fuzz_body::symbols(bytes)));
