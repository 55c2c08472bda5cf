//! The digest of an APK's contents for schemes v2 and v3.

use rayon::prelude::*;
use sha2::{Digest, Sha256};

const CHUNK: usize = 1 << 20;

/// Returns the SHA-256 of `bytes`.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 over the digests of all chunks of 1 MiB of `sections`: entries, central directory, and the end
/// record as if the central directory began where the signing block does. No chunk spans two sections.
pub(crate) fn of_contents(sections: [&[u8]; 3]) -> [u8; 32] {
    let chunks: Vec<&[u8]> = sections.iter().flat_map(|section| section.chunks(CHUNK)).collect();
    let digests = |chunk: &&[u8]| -> [u8; 32] {
        let mut digest = Sha256::new_with_prefix([0xa5]);
        digest.update((chunk.len() as u32).to_le_bytes());
        digest.update(chunk);
        digest.finalize().into()
    };
    let digests: Vec<[u8; 32]> = chunks.par_iter().map(digests).collect();
    let mut top = Sha256::new_with_prefix([0x5a]);
    top.update((digests.len() as u32).to_le_bytes());
    digests.iter().for_each(|digest| top.update(digest));
    top.finalize().into()
}
