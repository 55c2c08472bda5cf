//! Inflating and deflating whole entries.

use libdeflater::{CompressionLvl, Compressor, Crc, Decompressor};

use super::{DEFLATED, Data, STORED};

/// The highest compression ratio of deflate: 258 bytes from two bits.
const MAX_RATIO: u64 = 1032;

/// Returns the CRC-32 that zip files use.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns the contents of an entry. The error is the end of a sentence: "its deflate data is damaged".
pub(crate) fn contents<'d>(data: &'d Data<'_>) -> Result<std::borrow::Cow<'d, [u8]>, &'static str> {
    let (method, crc, size, bytes) = match data {
        Data::New { contents, .. } => return Ok(contents.as_ref().into()),
        Data::Copied { method, crc, size, bytes } => (*method, *crc, *size, bytes.as_ref()),
    };
    let contents = match method {
        STORED => std::borrow::Cow::Borrowed(bytes),
        DEFLATED => {
            // The size is only the archive's claim, so a hostile one cannot allocate all memory.
            if u64::from(size) > MAX_RATIO * bytes.len() as u64 {
                return Err("its size is larger than its data can inflate to");
            }
            let mut contents = vec![0; size as usize];
            let length = Decompressor::new().deflate_decompress(bytes, &mut contents);
            contents.truncate(length.map_err(|_| "its deflate data is damaged")?);
            contents.into()
        }
        _ => return Err("its compression method is neither stored nor deflated"),
    };
    if contents.len() as u64 != u64::from(size) {
        return Err("its size differs from the directory's");
    }
    if sum(&contents) != crc {
        return Err("its CRC-32 differs from the directory's");
    }
    Ok(contents)
}

/// Returns `contents` deflated at `level` (1 to 9; 0 stores), if that makes them smaller.
pub(crate) fn deflate(contents: &[u8], level: u8) -> Option<Vec<u8>> {
    let level = CompressionLvl::new(i32::from(level.min(9))).unwrap_or_default();
    if i32::from(level) == 0 {
        return None;
    }
    let mut compressor = Compressor::new(level);
    let mut out = vec![0; compressor.deflate_compress_bound(contents.len())];
    let length = compressor.deflate_compress(contents, &mut out).ok()?;
    out.truncate(length);
    (length < contents.len()).then_some(out)
}
