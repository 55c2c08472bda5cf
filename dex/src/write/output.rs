//! Appends numbers to bytes.

pub(super) trait Output {
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn uleb(&mut self, value: u32);
    fn sleb(&mut self, value: i32);
    /// Appends zeros up to a multiple of `alignment`.
    fn align(&mut self, alignment: usize);
}

impl Output for Vec<u8> {
    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn uleb(&mut self, mut value: u32) {
        while value > 0x7f {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn sleb(&mut self, mut value: i32) {
        while !(-0x40..0x40).contains(&value) {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8 & 0x7f);
    }

    fn align(&mut self, alignment: usize) {
        self.resize(self.len().next_multiple_of(alignment), 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::cursor::Cursor;

    proptest! {
        #[test]
        fn leb128_numbers_are_read_as_they_were_written(unsigned: u32, signed: i32, shift in 0..32) {
            let (unsigned, signed) = (unsigned >> shift, signed >> shift);
            let mut bytes = Vec::new();
            bytes.uleb(unsigned);
            bytes.sleb(signed);
            let mut cursor = Cursor::new(&bytes, 0);
            prop_assert_eq!(cursor.uleb(), Ok(unsigned));
            prop_assert_eq!(cursor.sleb(), Ok(signed));
            prop_assert_eq!(cursor.left(), 0);
        }
    }
}
