//! The little-endian fields of a zip file, and its extra fields.

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Header id of the extra field with 64-bit sizes.
const ZIP64: u16 = 1;

/// The extra fields of a header: each an id, a length and the bytes.
#[derive(Clone, Copy)]
pub(crate) struct Extra<'a> {
    bytes: &'a [u8],
}

impl<'a> Extra<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the first field: id, content, and its length including the four bytes before them.
    fn first(self) -> Option<(u16, &'a [u8], usize)> {
        let id = u16_at(self.bytes, 0)?;
        let length = 4 + usize::from(u16_at(self.bytes, 2)?);
        Some((id, self.bytes.get(4..length)?, length))
    }

    /// Returns the content of the zip64 field.
    pub(crate) fn zip64(mut self) -> Option<&'a [u8]> {
        while let Some((id, contents, length)) = self.first() {
            if id == ZIP64 {
                return Some(contents);
            }
            self.bytes = self.bytes.get(length..)?;
        }
        None
    }

    /// Appends all fields but the zip64 one, and trailing bytes unchanged: some tools pad with zeros.
    pub(crate) fn push_others(mut self, out: &mut Vec<u8>) {
        while let Some((id, _, length)) = self.first() {
            let (field, rest) = self.bytes.split_at_checked(length).unwrap_or((self.bytes, &[]));
            if id != ZIP64 {
                out.extend_from_slice(field);
            }
            self.bytes = rest;
        }
        out.extend_from_slice(self.bytes);
    }
}

/// Appends a zip64 field with these values.
pub(crate) fn push_zip64(values: &[u64], out: &mut Vec<u8>) {
    out.extend_from_slice(&ZIP64.to_le_bytes());
    out.extend_from_slice(&(8 * values.len() as u16).to_le_bytes());
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}
