//! Class files: the parser and the rewriter.
#![no_main]

use test_support::bodies::classes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || classes::run(bytes)));
