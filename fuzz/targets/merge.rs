//! Perfetto traces of others: `anrscope merge` looks for clocks and tracks in them.
#![no_main]

use std::path::Path;

#[path = "../../cli/src/merge/packets.rs"]
#[allow(dead_code, reason = "what merge does with it is not here")]
mod packets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut out = Vec::new();
    // Deflate makes a thousand of one.
    fuzz::bounded(bytes.len(), 4_096, || {
        let mut latest = 0;
        let mut walk = packets::Walk::new(Path::new("x"), &mut out, &mut latest);
        if walk.all(&mut &bytes[..]).is_ok() {
            let mut warnings = Vec::new();
            let whole = walk.finish(&mut warnings).is_ok() && warnings.is_empty();
            assert!(out.len() <= bytes.len() && (!whole || !out.is_empty()));
        }
    });
});
