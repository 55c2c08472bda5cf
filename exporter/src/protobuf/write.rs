//! Encodes protobuf messages.

use super::{FIXED64, LENGTH, VARINT};

/// A message under construction.
#[derive(Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// Writes a varint to the front of `out`, which must have room for ten bytes; returns its length.
#[inline]
pub(crate) fn put_varint(out: &mut [u8], mut value: u64) -> usize {
    let mut n = 0;
    while value >= 0x80 {
        out[n] = value as u8 | 0x80;
        value >>= 7;
        n += 1;
    }
    out[n] = value as u8;
    n + 1
}

impl Message {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn varint(&mut self, value: u64) {
        let mut buffer = [0; 10];
        let n = put_varint(&mut buffer, value);
        self.bytes.extend_from_slice(&buffer[..n]);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    pub(crate) fn uint(&mut self, field: u32, value: u64) -> &mut Self {
        self.tag(field, VARINT);
        self.varint(value);
        self
    }

    /// A negative number takes ten bytes, as protobuf's int64 has it.
    pub(crate) fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.uint(field, value as u64)
    }

    pub(crate) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.fixed(field, value.to_bits())
    }

    pub(crate) fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        self.tag(field, FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn data(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.tag(field, LENGTH);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    pub(crate) fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.data(field, value.as_bytes())
    }

    /// Adds a nested message, with its length in front.
    pub(crate) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self) -> &mut Self) -> &mut Self {
        self.tag(field, LENGTH);
        let start = self.bytes.len();
        fill(self);
        let mut length = [0; 10];
        let n = put_varint(&mut length, (self.bytes.len() - start) as u64);
        self.bytes.splice(start..start, length[..n].iter().copied());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_are_those_of_prost(value: u64) {
            let mut ours = [0; 10];
            let n = put_varint(&mut ours, value);
            let mut theirs = Vec::new();
            prost::encoding::encode_varint(value, &mut theirs);
            prop_assert_eq!(&ours[..n], &theirs[..]);
        }
    }
}
