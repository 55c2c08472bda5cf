//! Matrix's raw words and reports, converted to recordings, and every use of those.
#![no_main]

use std::path::Path;

use fuzz::recording::Use;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 2_048, || {
    if let Some(Ok(recording)) = exporter::matrix::recording_of(Path::new("x"), bytes) {
        assert!(trace_format::Recording::open(&recording[..]).is_ok(), "the converted file is a recording");
        fuzz::recording::read(&recording, Use::All);
    }
}));
