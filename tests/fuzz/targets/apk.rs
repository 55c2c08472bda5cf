//! APKs: entries, signing blocks and signatures.
#![no_main]

use apk::{layout, sign};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 1_024, || {
    let _ = sign::find_signers(bytes);
    let Ok(entries) = layout::read(bytes) else { return };
    let options = layout::Options { store_libraries: true, store_resources: true, level: 1, comment: &[] };
    if let Ok(written) = layout::lay_out(&entries, &options) {
        test_support::signed::check(&written).expect("an archive that was written");
    }
}));
