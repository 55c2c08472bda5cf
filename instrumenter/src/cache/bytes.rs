//! The fields of the cache file. Numbers are little-endian; a text is its length (4 bytes) and its UTF-8 bytes.

use crate::stamp::{Stamp, Sum};

/// Appends fields.
#[derive(Default)]
pub(super) struct Encoder {
    pub(super) bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn count(&mut self, count: usize) {
        // Counts of methods, entries and bytes of a name are far below this.
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a count and that many elements.
    pub(super) fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.count(list.len());
        list.iter().for_each(|element| each(self, element));
    }

    pub(super) fn texts(&mut self, texts: &[Box<str>]) {
        self.list(texts, |this, text| this.text(text));
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }

    pub(super) fn stamp(&mut self, stamp: Stamp) {
        self.u64(stamp.modified as u64);
        self.u64(stamp.changed as u64);
        self.u64(stamp.length);
    }

    pub(super) fn sum(&mut self, sum: Sum) {
        self.u32(sum.first);
        self.u32(sum.second);
        self.u64(sum.length);
    }

    /// Appends what `write` appends, preceded by its length, so that a reader can skip it.
    pub(super) fn sized(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(0);
        write(self);
        let length = (self.bytes.len() - start - 4) as u32;
        if let Some(slot) = self.bytes.get_mut(start..start + 4) {
            slot.copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// Reads fields in order.
pub(super) struct Decoder<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn count(&mut self) -> Option<usize> {
        self.u32().map(|count| count as usize)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.sized()?).ok()
    }

    pub(super) fn optional(&mut self) -> Option<Option<String>> {
        self.text().map(|text| (!text.is_empty()).then(|| text.to_owned()))
    }

    pub(super) fn texts(&mut self) -> Option<Box<[Box<str>]>> {
        self.list(|this| this.text().map(Into::into)).map(Vec::into_boxed_slice)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.array::<1>().map(|[flag]| flag != 0)
    }

    pub(super) fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp { modified: self.u64()? as i64, changed: self.u64()? as i64, length: self.u64()? })
    }

    pub(super) fn sum(&mut self) -> Option<Sum> {
        Some(Sum { first: self.u32()?, second: self.u32()?, length: self.u64()? })
    }

    /// Reads a sized field.
    pub(super) fn sized(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.bytes(length)
    }

    /// Reads a count and that many elements.
    pub(super) fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        // Each element has at least one byte, so a hostile count cannot allocate all memory.
        let mut list = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            list.push(each(self)?);
        }
        Some(list)
    }
}
