//! Thread dumps and ApplicationExitInfo texts: `anrscope dump`.
#![no_main]

#[path = "../../exporter/tests/dump/fuzz_body.rs"]
#[allow(dead_code, reason = "each target uses a part of it")]
mod fuzz_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || fuzz_body::dump(bytes)));
