//! The sections of native stacks, and the unwinding of a capture with the unwind tables of a file and of the recording.
#![no_main]

use test_support::bodies::native;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || native::unwind(bytes)));
