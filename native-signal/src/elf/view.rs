//! An object's readable memory.

use super::error::ElfError;

/// A range of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    /// The address that it was linked for.
    pub(crate) vaddr: u64,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}

/// All of it.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    /// The load bias: the difference between loaded and linked-for addresses.
    pub(crate) bias: u64,
    /// The size of an address, bytes: 4 or 8. Both are little-endian, as all of Android is.
    pub(crate) word: usize,
    pub(crate) segments: Vec<Segment<'a>>,
}

impl<'a> View<'a> {
    /// `len` bytes at an address as the dynamic section gives it. bionic and musl leave those addresses as linked;
    /// glibc adds the bias to most of them in place. One that is linked for an address of the object is the former.
    pub(crate) fn at(&self, address: u64, len: u64, table: &'static str) -> Result<&'a [u8], ElfError> {
        self.linked(address, len)
            .or_else(|| self.linked(address.wrapping_sub(self.bias), len))
            .ok_or(ElfError::OutOfBounds { table })
    }

    fn linked(&self, vaddr: u64, len: u64) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|segment| {
            let from = usize::try_from(vaddr.checked_sub(segment.vaddr)?).ok()?;
            let to = from.checked_add(usize::try_from(len).ok()?)?;
            segment.bytes.get(from..to)
        })
    }
}

/// A little-endian number of up to 8 bytes; `None` beyond the end.
pub(crate) fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut whole = [0; 8];
    whole.get_mut(..size)?.copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    Some(u64::from_le_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_the_bias() {
        let bytes: Vec<u8> = (0..32).collect();
        let view =
            View { bias: 0x7000_0000, word: 8, segments: vec![Segment { vaddr: 0x1000, bytes: &bytes }] };
        assert_eq!(view.at(0x1004, 2, "t"), Ok(&bytes[4..6]));
        assert_eq!(view.at(0x7000_1004, 2, "t"), Ok(&bytes[4..6]));
        assert_eq!(view.at(0x1020, 0, "t"), Ok(&[][..]));
        for (address, len) in [(0x1020, 1), (0xfff, 1), (0x1000, u64::MAX), (u64::MAX, 2), (0, 0)] {
            assert_eq!(view.at(address, len, "t"), Err(ElfError::OutOfBounds { table: "t" }), "{address:#x}");
        }
    }
}
