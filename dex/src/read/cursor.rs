//! Reads numbers one after another.

use crate::Malformed;

/// A place in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at an offset of `bytes`; reading fails if it is outside.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// An error at the next byte.
    pub(crate) fn error(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.error("the file ends within an item"))?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let rest = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        let taken = *rest.ok_or_else(|| self.error("the file ends within an item"))?;
        self.at += N;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Skips zeros up to a multiple of 4.
    pub(crate) fn align(&mut self) -> Result<(), Malformed> {
        while !self.at.is_multiple_of(4) {
            if self.u8()? != 0 {
                return Err(Malformed { at: self.at - 1, what: "padding is not zero" });
            }
        }
        Ok(())
    }

    pub(crate) fn uleb(&mut self) -> Result<u32, Malformed> {
        let start = self.at;
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            value |= u32::from(byte & 0x7f) << shift;
            if shift == 28 && byte > 0xf {
                break;
            }
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed { at: start, what: "a LEB128 number has more than 32 bits" })
    }

    pub(crate) fn sleb(&mut self) -> Result<i32, Malformed> {
        let start = self.at;
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // The bits that are missing are copies of the sign.
                let unset = 32_u32.saturating_sub(shift + 7);
                return Ok((value << unset).cast_signed() >> unset);
            }
        }
        Err(Malformed { at: start, what: "a LEB128 number has more than 32 bits" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leb128_numbers_are_those_of_the_format_document() {
        let cases: [(&[u8], i32, u32); 4] =
            [(&[0], 0, 0), (&[1], 1, 1), (&[0x7f], -1, 127), (&[0x80, 0x7f], -128, 16256)];
        for (bytes, signed, unsigned) in cases {
            assert_eq!(Cursor::new(bytes, 0).sleb(), Ok(signed));
            assert_eq!(Cursor::new(bytes, 0).uleb(), Ok(unsigned));
        }
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f], 0).uleb(), Ok(u32::MAX));
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x7f], 0).sleb(), Ok(-1));
        assert_eq!(Cursor::new(&[0x80, 0x80, 0x80, 0x80, 0x78], 0).sleb(), Ok(i32::MIN));
    }

    #[test]
    fn numbers_of_more_than_32_bits_are_refused() {
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x1f], 0).uleb().is_err());
        assert!(Cursor::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], 0).uleb().is_err());
        assert!(Cursor::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], 0).sleb().is_err());
    }
}
