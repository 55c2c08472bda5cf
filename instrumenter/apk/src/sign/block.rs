//! The APK signing block, which stands between the entries and the central directory.
//!
//! ```text
//! u64 size | u64 length, u32 id, value | ... | u64 size | "APK Sig Block 42" | central directory
//! ```
//!
//! A size does not count itself; a length counts the id.

use zip_archive::{u32_at, u64_at};

use super::Error;

/// The id of APK Signature Scheme v2.
pub(crate) const V2: u32 = 0x7109_871a;
/// The id of APK Signature Scheme v3.
pub(crate) const V3: u32 = 0xf053_68c0;
/// The id of APK Signature Scheme v3.1, which has a rotated key for API 33 and later.
pub(crate) const V31: u32 = 0x1b93_ad61;
/// The id of the padding, which makes the block a multiple of [`PAGE`] (apksig, `VERITY_PADDING_BLOCK_ID`).
const PADDING: u32 = 0x4272_6577;
/// The block starts and ends at multiples of this many bytes, so that fs-verity can cover the APK by pages.
pub(crate) const PAGE: usize = 4096;
const MAGIC: &[u8; 16] = b"APK Sig Block 42";
/// Length of size and magic at the end.
const FOOTER: usize = 24;

fn broken(at: usize, what: &'static str) -> Error {
    Error::Block { at, what }
}

/// A part of the block, read from the front. Knows its offset in the APK for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, length: usize, what: &'static str) -> Result<Fields<'a>, Error> {
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or(broken(self.at, what))?;
        let taken = Fields { bytes, at: self.at };
        self.at += length;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        let at = self.at;
        let field = self.take(4, "a number is cut short")?;
        u32_at(field.bytes, 0).ok_or(broken(at, "a number is cut short"))
    }

    /// Reads a value behind its length of 32 bits.
    pub(crate) fn prefixed(&mut self) -> Result<Fields<'a>, Error> {
        let length = self.u32()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX), "a value is longer than what contains it")
    }
}

/// The signing block of an APK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// Offset of the block in the APK.
    pub(crate) at: usize,
    pairs: Fields<'a>,
}

impl<'a> Block<'a> {
    /// Finds the block that ends at the central directory, at `directory`.
    pub(crate) fn find(apk: &'a [u8], directory: usize) -> Result<Option<Self>, Error> {
        let before = apk.get(..directory).unwrap_or_default();
        let Some(footer) = before.len().checked_sub(FOOTER).filter(|_| before.ends_with(MAGIC)) else {
            return Ok(None);
        };
        let wrong = || broken(footer, "the size of the block is not the same at both ends");
        let size = u64_at(before, footer).ok_or_else(wrong)?;
        let length = usize::try_from(size).ok().and_then(|size| size.checked_add(8)).ok_or_else(wrong)?;
        let at = directory.checked_sub(length).ok_or_else(wrong)?;
        if u64_at(before, at) != Some(size) {
            return Err(wrong());
        }
        let bytes = before.get(at + 8..footer).ok_or_else(wrong)?;
        Ok(Some(Self { at, pairs: Fields { bytes, at: at + 8 } }))
    }

    /// Returns the value with this id: the first, as Android takes it.
    pub(crate) fn value(&self, id: u32) -> Result<Option<Fields<'a>>, Error> {
        let mut pairs = self.pairs;
        while !pairs.is_empty() {
            let at = pairs.at;
            let length = u64_at(pairs.take(8, "a length is cut short")?.bytes, 0);
            let length = length.and_then(|length| usize::try_from(length).ok());
            let mut pair = pairs.take(length.unwrap_or(usize::MAX), "a value is longer than the block")?;
            let found = pair.u32().map_err(|_| broken(at, "a value has no id"))?;
            if found == id {
                return Ok(Some(pair));
            }
        }
        Ok(None)
    }
}

/// Returns a block with these values, padded to a multiple of [`PAGE`].
pub(crate) fn encode(values: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut pairs = Vec::new();
    let mut push = |id: u32, value: &[u8]| {
        pairs.extend_from_slice(&(4 + value.len() as u64).to_le_bytes());
        pairs.extend_from_slice(&id.to_le_bytes());
        pairs.extend_from_slice(value);
        pairs.len() + 8 + FOOTER
    };
    let length = values.iter().map(|(id, value)| push(*id, value)).last().unwrap_or(8 + FOOTER);
    if length % PAGE != 0 {
        // The padding has a length and an id of its own.
        let padding = (length + 12).next_multiple_of(PAGE) - length - 12;
        push(PADDING, &vec![0; padding]);
    }
    let size = (pairs.len() + FOOTER) as u64;
    let mut out = Vec::with_capacity(pairs.len() + 8 + FOOTER);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&pairs);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

/// Returns `parts`, one after the other, behind their length of 32 bits.
pub(crate) fn prefixed(parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(4 + length);
    // What is prefixed is keys, digests and certificates, which are read from files of at most 1 MiB.
    out.extend_from_slice(&(length as u32).to_le_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Block, PADDING, PAGE, encode};

    #[test]
    fn the_block_is_padded_at_every_length() {
        for length in PAGE - 70..PAGE + 8 {
            let block = encode(&[(7, vec![1; length])]);
            assert_eq!(block.len() % PAGE, 0, "{length}");
            let found = Block::find(&block, block.len()).unwrap().unwrap();
            assert_eq!(found.value(7).unwrap().unwrap().bytes.len(), length);
        }
    }

    #[test]
    fn sizes_that_lie_are_refused() {
        let good = encode(&[(7, vec![1; 10])]);
        for (at, byte) in [(0, 1), (1, 0xff), (7, 0x80), (good.len() - 24, 9), (good.len() - 17, 0xff)] {
            let mut block = good.clone();
            block[at] ^= byte;
            assert!(Block::find(&block, block.len()).is_err(), "{at}");
        }
        for byte in [0x7f, 3] {
            let mut block = good.clone();
            block[8] = byte;
            let found = Block::find(&block, block.len()).unwrap().unwrap();
            assert!(found.value(PADDING + 1).is_err());
        }
    }

    proptest! {
        #[test]
        fn values_are_found_by_id(values in prop::collection::vec((0_u32..9, prop::collection::vec(any::<u8>(), 0..90)), 0..9)) {
            let block = encode(&values);
            let found = Block::find(&block, block.len()).unwrap().unwrap();
            for id in 0..9 {
                let expected = values.iter().find(|(other, _)| *other == id).map(|(_, value)| &value[..]);
                prop_assert_eq!(found.value(id).unwrap().map(|value| value.bytes), expected);
            }
        }

        #[test]
        fn random_pairs_are_read_within_bounds(pairs in prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..200)) {
            let size = (pairs.len() as u64 + 24).to_le_bytes();
            let block = [&size, &pairs[..], &size, b"APK Sig Block 42"].concat();
            let found = Block::find(&block, block.len()).unwrap().unwrap();
            let _ = found.value(7);
        }
    }
}
