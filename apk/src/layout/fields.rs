//! The little-endian fields of a zip file.

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

/// Returns the 16-bit value at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// Returns the 32-bit value at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Returns the 64-bit value at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// The extra fields of a header: each an id, a length and the bytes. Stops at the first that is cut short, such as the
/// zeros with which older tools pad.
pub(crate) struct Extra<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Extra<'a> {
    /// The id and the whole field, with the four bytes in front.
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let id = u16_at(self.0, 0)?;
        let length = 4 + usize::from(u16_at(self.0, 2)?);
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some((id, field))
    }
}

#[cfg(test)]
mod tests {
    use super::Extra;

    #[test]
    fn fields_end_at_the_first_that_is_cut_short() {
        let bytes = [1, 0, 1, 0, 9, 2, 0, 0, 0, 0xff];
        let fields: Vec<_> = Extra(&bytes).collect();
        assert_eq!(fields, [(1, &bytes[..5]), (2, &bytes[5..9])]);
    }
}
