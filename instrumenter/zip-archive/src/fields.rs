//! The little-endian fields of a zip file, and its extra fields.

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

/// Returns the 16-bit value at `at`.
#[must_use]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// Returns the 32-bit value at `at`.
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Returns the 64-bit value at `at`.
#[must_use]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Header id of the extra field with 64-bit sizes.
pub const ZIP64: u16 = 1;

/// The extra fields of a header: each an id, a length and the bytes. Stops at the first that is cut short, such as the zeros with which
/// older tools pad; what is left then are its bytes.
#[derive(Clone, Debug)]
pub struct Extra<'a>(pub &'a [u8]);

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

/// Returns the content of the zip64 field.
pub(crate) fn zip64(extra: &[u8]) -> Option<&[u8]> {
    Extra(extra).find(|(id, _)| *id == ZIP64).and_then(|(_, field)| field.get(4..))
}

/// Appends all fields but the zip64 one, and the bytes behind them unchanged.
pub(crate) fn push_others(extra: &[u8], out: &mut Vec<u8>) {
    let mut fields = Extra(extra);
    fields.by_ref().filter(|(id, _)| *id != ZIP64).for_each(|(_, field)| out.extend_from_slice(field));
    out.extend_from_slice(fields.0);
}

/// Appends a zip64 field with these values.
pub(crate) fn push_zip64(values: &[u64], out: &mut Vec<u8>) {
    out.extend_from_slice(&ZIP64.to_le_bytes());
    out.extend_from_slice(&(8 * values.len() as u16).to_le_bytes());
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::Extra;

    #[test]
    fn fields_end_at_the_first_that_is_cut_short() {
        let bytes = [1, 0, 1, 0, 9, 2, 0, 0, 0, 0xff];
        let mut fields = Extra(&bytes);
        assert_eq!(fields.by_ref().collect::<Vec<_>>(), [(1, &bytes[..5]), (2, &bytes[5..9])]);
        assert_eq!(fields.0, [0xff]);
    }
}
