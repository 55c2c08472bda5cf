//! Class files: the parser and the rewriter.
#![no_main]

#[path = "../../instrumenter/tests/it/fuzz_body.rs"]
mod fuzz_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || fuzz_body::run(bytes)));
