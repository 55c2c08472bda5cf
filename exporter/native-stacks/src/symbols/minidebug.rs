//! `.gnu_debugdata`: a small ELF file with symbols, compressed with xz, in a section of a stripped one ("mini debug info").

use std::io::Read;

use lzma_rust2::XzReader;

/// The longest file in it.
const MAX_DEBUG_DATA: u64 = 64 << 20;
/// The greatest dictionary, KiB: that of `xz -9`, and room for the decoder.
const MAX_MEMORY_KIB: u32 = (64 << 10) + 1024;
/// It unpacks to this many times its length at most; real ones to 6.
const MAX_RATIO: u64 = 200;

/// The file in the section; `None` if it is damaged or unpacks to more than the limits.
pub(super) fn unpack(section: &[u8]) -> Option<Vec<u8>> {
    let max = MAX_DEBUG_DATA.min((section.len() as u64).saturating_mul(MAX_RATIO));
    // One byte more tells a file that is too long.
    let mut unpacked = Vec::new();
    XzReader::new_mem_limit(section, true, MAX_MEMORY_KIB).take(max + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() as u64 <= max).then_some(unpacked)
}
