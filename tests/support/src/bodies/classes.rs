//! Class files.

use instrumenter::{Catalogue, Exits, rewrite_class};

/// Rewrites `bytes`, which may be anything, in every way. Nothing may panic, and every output can be read and
/// rewritten again.
pub fn run(bytes: &[u8]) {
    let catalogue = Catalogue::default();
    // From short pushes to those that need a constant.
    let ids: Vec<u32> = (0..400).map(|n| n * 100).collect();
    for exits in [Exits::All, Exits::Normal, Exits::Bare] {
        let plain = rewrite_class(bytes, &ids, "dev/anrscope/MethodBeat", exits, None);
        let waits = rewrite_class(bytes, &ids, "dev/anrscope/MethodBeat", exits, Some(&catalogue));
        assert_eq!(plain.is_ok(), waits.is_ok(), "waits decide over methods, not over classes");
        for rewritten in [plain, waits].into_iter().flatten().filter_map(|rewritten| rewritten.bytes) {
            rewrite_class(&rewritten, &ids, "another/Beat", exits, None)
                .expect("what was written can be read");
        }
    }
}
