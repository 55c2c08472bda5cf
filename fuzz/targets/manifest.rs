//! `AndroidManifest.xml` of APKs and App Bundles: the readers, the facts, and all edits.
#![no_main]

#[path = "../../apk/tests/fuzz_body.rs"]
mod fuzz_body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || fuzz_body::manifest(bytes)));
