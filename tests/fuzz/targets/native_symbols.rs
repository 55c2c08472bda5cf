//! ELF files with symbols, DWARF and mini debug info, and Breakpad's symbol files: what `--symbols DIR` may hold.
#![no_main]

use test_support::bodies::native;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 256, || native::symbols(bytes)));
