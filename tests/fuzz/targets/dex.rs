//! Dex files: read, traced, written, and read again.
#![no_main]

use test_support::bodies::dex;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || dex::dex(bytes)));
