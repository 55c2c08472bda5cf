//! Inflating and deflating whole entries.
//!
//! libdeflate works on whole buffers, which suits class files. It takes two thirds of the time of zlib's stream
//! interface at the same level, and produces smaller files.

use libdeflater::{CompressionLvl, Compressor, Crc, Decompressor};

use super::directory::{DEFLATED, Entry, STORED};
use crate::error::SkipReason;

/// The highest compression ratio of deflate: 258 bytes from two bits.
const MAX_RATIO: u64 = 1032;
/// The largest jar inside an aar that is read, to bound memory.
pub(crate) const MAX_NESTED: u64 = 512 << 20;

/// Reads entries, and reuses its tables.
#[derive(Default)]
pub(crate) struct Inflater(Decompressor);

fn unreadable(reason: impl Into<String>) -> SkipReason {
    SkipReason::Unreadable(reason.into())
}

/// What the directory says about the content of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    is_encrypted: bool,
    method: u16,
    size: u64,
    crc: u32,
}

impl From<&Entry> for Content {
    fn from(entry: &Entry) -> Self {
        Self { is_encrypted: entry.is_encrypted(), method: entry.method, size: entry.size, crc: entry.crc }
    }
}

impl Inflater {
    /// Reads the content of `entry` in the archive `bytes`, if it has at most `limit` bytes and a correct checksum.
    pub(crate) fn read(&mut self, bytes: &[u8], entry: &Entry, limit: u64) -> Result<Vec<u8>, SkipReason> {
        self.inflate(bytes.get(entry.data.clone()).unwrap_or_default(), entry.into(), limit)
    }

    /// Reads the content whose compressed bytes are `data`, as [`Self::read`].
    pub(crate) fn inflate(&mut self, data: &[u8], entry: Content, limit: u64) -> Result<Vec<u8>, SkipReason> {
        if entry.is_encrypted {
            return Err(unreadable("it is encrypted"));
        }
        if entry.size > limit {
            return Err(unreadable(format!("it is larger than {} MiB", limit >> 20)));
        }
        let contents = match entry.method {
            STORED => data.to_vec(),
            DEFLATED => {
                // The size is only the archive's claim, so a hostile one cannot allocate all memory.
                if entry.size > MAX_RATIO * data.len() as u64 {
                    return Err(unreadable("its size is larger than its data can inflate to"));
                }
                let mut contents = vec![0; usize::try_from(entry.size).unwrap_or(usize::MAX)];
                let length = self.0.deflate_decompress(data, &mut contents);
                let length = length.map_err(|error| unreadable(format!("its deflate data: {error}")))?;
                contents.truncate(length);
                contents
            }
            method => return Err(unreadable(format!("compression method {method} is not supported"))),
        };
        if contents.len() as u64 != entry.size {
            return Err(unreadable("its size differs from the directory's"));
        }
        if sum(&contents) != entry.crc {
            return Err(unreadable("its CRC-32 differs from the directory's"));
        }
        Ok(contents)
    }
}

/// Returns the CRC-32 that zip files use.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Compresses entries at one level, and reuses its tables and its buffer.
pub(crate) struct Deflater {
    compressor: Option<Compressor>,
    buffer: Vec<u8>,
}

impl Deflater {
    /// Creates a compressor of this level: 0 stores, 9 is small, as in zlib.
    pub(crate) fn new(level: u8) -> Self {
        let level = CompressionLvl::new(i32::from(level.min(9))).unwrap_or_default();
        let compressor = (i32::from(level) != 0).then(|| Compressor::new(level));
        Self { compressor, buffer: Vec::new() }
    }

    /// Appends `contents`, compressed if that makes them smaller, and returns the method.
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
