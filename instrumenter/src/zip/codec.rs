//! Inflating and deflating whole entries.
//!
//! libdeflate works on whole buffers, which class files are; it takes two thirds of the time that
//! zlib's stream interface takes for the same level, and makes smaller files.

use libdeflater::{CompressionLvl, Compressor, Crc, Decompressor};

use super::directory::{DEFLATED, Entry, STORED};
use crate::error::SkipReason;

/// No deflate stream unfolds further: 258 bytes from two bits.
const MAX_RATIO: u64 = 1032;
/// A jar inside an aar beyond this would only be a trap for memory.
pub(crate) const MAX_NESTED: u64 = 512 << 20;

/// Reads entries; keeps its tables from one to the next.
#[derive(Default)]
pub(crate) struct Inflater(Decompressor);

fn unreadable(reason: impl Into<String>) -> SkipReason {
    SkipReason::Unreadable(reason.into())
}

impl Inflater {
    /// The contents of `entry` of the archive `bytes`, if they have at most `limit` bytes and the sum
    /// is right.
    pub(crate) fn read(&mut self, bytes: &[u8], entry: &Entry, limit: u64) -> Result<Vec<u8>, SkipReason> {
        let data = bytes.get(entry.data.clone()).unwrap_or_default();
        if entry.is_encrypted() {
            return Err(unreadable("it is encrypted"));
        }
        if entry.size > limit {
            return Err(unreadable(format!("it has more than {} MiB", limit >> 20)));
        }
        let contents = match entry.method {
            STORED => data.to_vec(),
            DEFLATED => {
                // The size is only what the archive claims: it may not make us ask for all memory.
                if entry.size > MAX_RATIO * data.len() as u64 {
                    return Err(unreadable("its size is more than its data can unfold into"));
                }
                let mut contents = vec![0; usize::try_from(entry.size).unwrap_or(usize::MAX)];
                let length = self.0.deflate_decompress(data, &mut contents);
                let length = length.map_err(|error| unreadable(format!("its deflate data: {error}")))?;
                contents.truncate(length);
                contents
            }
            method => return Err(unreadable(format!("compression method {method} is not known here"))),
        };
        if contents.len() as u64 != entry.size {
            return Err(unreadable("its size is not what the directory says"));
        }
        if sum(&contents) != entry.crc {
            return Err(unreadable("its CRC-32 is not what the directory says"));
        }
        Ok(contents)
    }
}

/// The CRC-32 of a zip file.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Compresses entries at one level; keeps its tables and its buffer from one to the next.
pub(crate) struct Deflater {
    compressor: Option<Compressor>,
    buffer: Vec<u8>,
}

impl Deflater {
    /// A compressor of this level: 0 stores, 9 is small, as in zlib.
    pub(crate) fn new(level: u8) -> Self {
        let level = CompressionLvl::new(i32::from(level.min(9))).unwrap_or_default();
        let compressor = (i32::from(level) != 0).then(|| Compressor::new(level));
        Self { compressor, buffer: Vec::new() }
    }

    /// Appends `contents`, compressed if that makes them smaller, and gives the method.
    pub(crate) fn push(&mut self, contents: &[u8], out: &mut Vec<u8>) -> u16 {
        if let Some(compressor) = &mut self.compressor {
            let bound = compressor.deflate_compress_bound(contents.len());
            if self.buffer.len() < bound {
                self.buffer.resize(bound, 0);
            }
            let deflated = compressor.deflate_compress(contents, &mut self.buffer).ok();
            let deflated = deflated.and_then(|length| self.buffer.get(..length));
            if let Some(deflated) = deflated.filter(|deflated| deflated.len() < contents.len()) {
                out.extend_from_slice(deflated);
                return DEFLATED;
            }
        }
        out.extend_from_slice(contents);
        STORED
    }
}
