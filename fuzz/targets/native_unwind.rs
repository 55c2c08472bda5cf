//! The sections of native stacks, and the unwinding of a capture with the unwind tables of a file and of the recording.
#![no_main]

#[path = "../../native-stacks/tests/hostile/fuzz_body.rs"]
#[allow(dead_code, reason = "each target uses a part of it")]
mod fuzz_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || fuzz_body::unwind(bytes)));
