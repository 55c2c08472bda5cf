//! Bounds-checked reading of little-endian numbers.

/// Returns the byte at `at`.
pub(crate) fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// Returns the 16-bit number at `at`.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(pair.try_into().ok()?))
}

/// Returns the 32-bit number at `at`.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// A position from which LEB128 numbers are read.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn next(&mut self) -> Option<u8> {
        let value = byte(self.bytes, self.at)?;
        self.at = self.at.checked_add(1)?;
        Some(value)
    }

    /// Reads a uleb128 number of at most five bytes. Bits above 32 are ignored, as ART does.
    pub(crate) fn unsigned(&mut self) -> Option<u32> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let next = self.next()?;
            value |= u32::from(next & 0x7f) << shift;
            if next & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a sleb128 number of at most five bytes.
    pub(crate) fn signed(&mut self) -> Option<i32> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let next = self.next()?;
            value |= u32::from(next & 0x7f) << shift;
            if next & 0x80 == 0 {
                let width = shift + 7;
                if width < 32 && next & 0x40 != 0 {
                    value |= u32::MAX << width;
                }
                return Some(value as i32);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leb128_numbers_are_read() {
        let bytes = [0x00, 0x7f, 0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x0f];
        let mut cursor = Cursor::new(&bytes, 0);
        assert_eq!(cursor.unsigned(), Some(0));
        assert_eq!(cursor.signed(), Some(-1));
        assert_eq!(cursor.signed(), Some(-128));
        assert_eq!(cursor.unsigned(), Some(u32::MAX));
        assert_eq!(cursor.unsigned(), None);
    }

    #[test]
    fn numbers_outside_are_not_read() {
        assert_eq!(half(&[1], 0), None);
        assert_eq!(word(&[1, 2, 3, 4], 1), None);
        assert_eq!(word(&[1, 2, 3, 4], usize::MAX), None);
        assert_eq!(Cursor::new(&[0x80; 8], 0).unsigned(), None);
    }
}
