//! Matrix's raw words and reports, read as recordings, and all that is done with those.
#![no_main]

use std::path::Path;

use fuzz::recording::Done;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 2_048, || {
    if let Some(Ok(recording)) = exporter::matrix::recording_of(Path::new("x"), bytes) {
        assert!(trace_format::Recording::open(&recording[..]).is_ok(), "what was made of it is a recording");
        fuzz::recording::read(&recording, Done::All);
    }
}));
