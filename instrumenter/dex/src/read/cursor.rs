//! Reads numbers one after another.

use crate::Malformed;
use crate::leb128::Bytes;

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
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The bytes that are left.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// An error at the next byte.
    pub(crate) fn error(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.error("the file ends within an item"))?;
        self.at += length;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let rest = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        let taken = *rest.ok_or_else(|| self.error("the file ends within an item"))?;
        self.at += N;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Skips zeros up to a multiple of 4.
    pub(crate) fn align(&mut self) -> Result<(), Malformed> {
        while !self.at.is_multiple_of(4) {
            Malformed::when(self.u8()? != 0, self.at - 1, "padding is not zero")?;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn uleb(&mut self) -> Result<u32, Malformed> {
        self.leb128(Bytes::uleb)
    }

    #[inline]
    pub(crate) fn sleb(&mut self) -> Result<i32, Malformed> {
        self.leb128(Bytes::sleb)
    }

    #[inline]
    fn leb128<T>(&mut self, read: impl Fn(&mut Bytes<'a>) -> Option<T>) -> Result<T, Malformed> {
        let mut bytes = Bytes::new(self.bytes, self.at);
        let value = read(&mut bytes).ok_or_else(|| match self.left() {
            0..5 => self.error("the file ends within an item"),
            _ => self.error("a LEB128 number has more than 32 bits"),
        })?;
        self.at = bytes.at;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_too_long_or_cut_short_is_refused_where_it_starts() {
        let refused = |bytes: &[u8]| {
            let (unsigned, signed) = (Cursor::new(bytes, 1).uleb(), Cursor::new(bytes, 1).sleb());
            assert_eq!(unsigned.err(), signed.err());
            unsigned.unwrap_err()
        };
        let long = "a LEB128 number has more than 32 bits";
        assert_eq!(refused(&[0, 0x80, 0x80, 0x80, 0x80, 0x80, 0]), Malformed { at: 1, what: long });
        assert_eq!(refused(&[0, 0x80, 0x80]), Malformed { at: 1, what: "the file ends within an item" });
    }
}
