//! Reading big-endian fields out of bytes that nobody has checked yet.

use crate::error::Malformed;

/// A position in a class file and a limit it will not read past.
///
/// Positions are absolute, so that every [`Malformed`] names the byte of the file, also when the
/// cursor walks an attribute inside an attribute.
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

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { offset: self.at, what }
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let past = self.at.checked_add(count).filter(|&past| past <= self.end);
        let taken = past.and_then(|past| self.bytes.get(self.at..past));
        let taken = taken.ok_or_else(|| self.malformed("the data ends too early"))?;
        self.at += count;
        Ok(taken)
    }

    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.bytes(count).map(drop)
    }

    /// A cursor over the next `count` bytes, which this one steps over.
    pub(crate) fn sub(&mut self, count: usize) -> Result<Self, Malformed> {
        let at = self.at;
        self.skip(count)?;
        Ok(Self { bytes: self.bytes, at, end: self.at })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let at = self.at;
        let taken = self.bytes(N)?;
        taken.try_into().map_err(|_| Malformed { offset: at, what: "the data ends too early" })
    }

    pub(crate) fn u1(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u2(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u4(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }
}
