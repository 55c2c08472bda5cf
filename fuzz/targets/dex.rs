//! Dex files: read, traced, written, and read again.
#![no_main]

#[path = "../../dex/tests/fuzz_body.rs"]
mod fuzz_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || fuzz_body::dex(bytes)));
