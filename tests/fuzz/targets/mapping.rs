//! mapping.txt of ProGuard and R8: `anrscope retrace`.
#![no_main]

use test_support::bodies::dumps;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || dumps::mapping(bytes)));
