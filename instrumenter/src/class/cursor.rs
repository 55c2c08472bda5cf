//! Reads big-endian fields from untrusted bytes.

use crate::error::Malformed;

/// A position in a class file with a limit that it does not read past.
///
/// Positions are absolute, so that every [`Malformed`] names a byte of the file, even inside nested attributes.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    /// Reads the next `count` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let past = self.at.checked_add(count).filter(|&past| past <= self.end);
        let taken = past.and_then(|past| self.bytes.get(self.at..past));
        let taken = taken.ok_or_else(|| self.malformed("the data ends too early"))?;
        self.at += count;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.bytes(count).map(drop)
    }

    /// Returns a cursor over the next `count` bytes, and skips them.
    #[inline]
    pub(crate) fn sub(&mut self, count: usize) -> Result<Self, Malformed> {
        let at = self.at;
        self.skip(count)?;
        Ok(Self { bytes: self.bytes, at, end: self.at })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let at = self.at;
        let taken = self.bytes(N)?;
        taken.try_into().map_err(|_| Malformed { at, what: "the data ends too early" })
    }

    #[inline]
    pub(crate) fn u1(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u2(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u4(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }
}
