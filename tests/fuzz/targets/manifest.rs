//! `AndroidManifest.xml` of APKs and App Bundles: the readers, the facts, and all edits.
#![no_main]

use test_support::bodies::manifests;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || manifests::manifest(bytes)));
