//! The string pool (`ResStringPool`): UTF-16 or UTF-8 strings, and styles of the first of them.
//!
//! A pool keeps its form and its string data. New strings are appended to the data; only offsets are inserted.

use std::collections::BTreeSet;

use dex::mutf8;
use zip_archive::{u16_at, u32_at};

use super::super::error::{Error, Malformed};
use super::NONE;
use super::chunk::put_u32;

const HEADER: usize = 28;
/// `SORTED_FLAG`: strings are in order, and the system may look them up by bisection.
const SORTED: u32 = 1;
/// `UTF8_FLAG`.
const UTF8: u32 = 1 << 8;

/// A string pool.
#[derive(Clone, Debug)]
pub(super) struct StringPool {
    /// The chunk as it was read; `None` once a string was added.
    raw: Option<Vec<u8>>,
    /// Offset of the string data in the file, for errors.
    at: usize,
    /// The header behind the fields that are known.
    header_rest: Vec<u8>,
    flags: u32,
    /// Offset of each string in `data`.
    offsets: Vec<u32>,
    /// Offset of the style of each of the first strings in `style_data`.
    styles: Vec<u32>,
    data: Vec<u8>,
    style_data: Vec<u8>,
}

impl StringPool {
    /// Reads the chunk from `start` to `end`, whose header has been checked.
    pub(super) fn read(bytes: &[u8], start: usize, end: usize) -> Result<Self, Malformed> {
        let chunk = bytes.get(start..end).unwrap_or_default();
        let header = usize::from(u16_at(chunk, 2).unwrap_or(0));
        Malformed::when(header < HEADER, start, "the string pool's header is too short")?;
        let field =
            |offset| u32_at(chunk, offset).ok_or(Malformed::new(start, "the string pool is too short"));
        let (strings, styles, flags) = (field(8)?, field(12)?, field(16)?);
        let (strings_start, styles_start) = (field(20)? as usize, field(24)? as usize);
        let tables = u64::from(strings) + u64::from(styles);
        if header as u64 + 4 * tables > chunk.len() as u64 {
            return Err(Malformed::new(start, "the string pool has more strings than it has room for"));
        }
        let (strings, styles) = (strings as usize, styles as usize);
        Malformed::when(styles > strings, start, "the string pool has more styles than strings")?;
        let strings_end = if styles > 0 { styles_start } else { chunk.len() };
        let data = chunk.get(strings_start..strings_end);
        // A pool without strings may have any start.
        let data = if strings == 0 { data.or(Some(&[])) } else { data };
        let data = data.ok_or(Malformed::new(start, "the string pool's data do not lie within it"))?;
        let style_data = if styles > 0 { chunk.get(styles_start..).unwrap_or_default() } else { &[] };
        let table =
            |from: usize, count: usize| (0..count).map_while(|i| u32_at(chunk, from + 4 * i)).collect();
        Ok(Self {
            at: start.saturating_add(strings_start),
            header_rest: chunk.get(HEADER..header).unwrap_or_default().to_vec(),
            flags,
            offsets: table(header, strings),
            styles: table(header + 4 * strings, styles),
            data: data.to_vec(),
            style_data: style_data.to_vec(),
            raw: Some(chunk.to_vec()),
        })
    }

    /// The number of strings.
    pub(super) fn len(&self) -> u32 {
        // Each has four bytes in a file of at most 16 MiB, and additions are checked.
        u32::try_from(self.offsets.len()).unwrap_or(NONE)
    }

    fn is_utf8(&self) -> bool {
        self.flags & UTF8 != 0
    }

    /// The encoded string and what follows it; empty if there is no such string.
    fn encoded_at(&self, index: u32) -> &[u8] {
        let offset = self.offsets.get(index as usize).and_then(|offset| usize::try_from(*offset).ok());
        offset.and_then(|offset| self.data.get(offset..)).unwrap_or_default()
    }

    /// True if the string is this text. False for [`NONE`], and for a string whose length has an unusual form.
    pub(super) fn is(&self, index: u32, text: &str) -> bool {
        self.encode(text).is_ok_and(|encoded| self.encoded_at(index).starts_with(&encoded))
    }

    /// The first string with this text at or behind `from`.
    pub(super) fn find(&self, text: &str, from: u32) -> Option<u32> {
        let encoded = self.encode(text).ok()?;
        (from..self.len()).find(|index| self.encoded_at(*index).starts_with(&encoded))
    }

    /// Decodes a string; what is not valid Unicode becomes U+FFFD. [`NONE`] is empty.
    pub(super) fn decode(&self, index: u32) -> Result<String, Malformed> {
        if index == NONE {
            return Ok(String::new());
        }
        let offset = self.offsets.get(index as usize).map_or(0, |offset| *offset as usize);
        let outside =
            Malformed::new(self.at.saturating_add(offset), "a string does not lie within the string pool");
        let bytes = self.encoded_at(index);
        if self.is_utf8() {
            let (_, bytes) = length8(bytes).ok_or(outside)?;
            let (length, bytes) = length8(bytes).ok_or(outside)?;
            Ok(mutf8::decode(bytes.get(..length).ok_or(outside)?).into_owned())
        } else {
            let (length, bytes) = length16(bytes).ok_or(outside)?;
            let size = length.checked_mul(2).ok_or(outside)?;
            let units = bytes.get(..size).ok_or(outside)?.chunks_exact(2);
            let units: Vec<u16> = units.filter_map(|unit| u16_at(unit, 0)).collect();
            Ok(String::from_utf16_lossy(&units))
        }
    }

    /// Length, characters and terminator in the form of this pool.
    fn encode(&self, text: &str) -> Result<Vec<u8>, Error> {
        let units = text.encode_utf16().count();
        let too_long = Error::StringTooLong(units);
        let mut out = Vec::new();
        if self.is_utf8() {
            // As aapt2 writes it, because the system hands the bytes to `NewStringUTF`.
            let encoded = mutf8::encode(text);
            for length in [units, encoded.len()] {
                let length = u16::try_from(length).map_err(|_| too_long.clone())?;
                match length {
                    0..=0x7f => out.push(length.to_be_bytes()[1]),
                    0x80..=0x7fff => out.extend((length | 0x8000).to_be_bytes()),
                    _ => return Err(too_long),
                }
            }
            out.extend_from_slice(&encoded);
            out.push(0);
        } else {
            match u32::try_from(units).map_err(|_| too_long.clone())? {
                length @ 0..=0x7fff => out.extend(length.to_le_bytes().into_iter().take(2)),
                length @ 0x8000..=0x7fff_ffff => {
                    let [a, b, c, d] = length.to_le_bytes();
                    out.extend([c, d | 0x80, a, b]);
                }
                _ => return Err(too_long),
            }
            out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            out.extend([0, 0]);
        }
        Ok(out)
    }

    /// Inserts a string before string `index`, which moves all from there on. The caller moves the references.
    pub(super) fn insert(&mut self, index: u32, text: &str) -> Result<(), Error> {
        let encoded = self.encode(text)?;
        let offset = u32::try_from(self.data.len()).map_err(|_| Error::TooLarge)?;
        let at = index as usize;
        if at > self.offsets.len() || self.len() >= NONE - 1 {
            return Err(Error::TooLarge);
        }
        self.raw = None;
        // The order of the strings is lost.
        self.flags &= !SORTED;
        self.data.extend(encoded);
        self.offsets.insert(at, offset);
        self.move_span_names(index);
        if at < self.styles.len() {
            // An empty style, so that those behind it stay with their strings. The three end marks that close the data remain
            // the last ones.
            let style = u32::try_from(self.style_data.len()).map_err(|_| Error::TooLarge)?;
            self.style_data.extend(NONE.to_le_bytes());
            self.styles.insert(at, style);
        }
        Ok(())
    }

    /// Appends a string and returns its index.
    pub(super) fn append(&mut self, text: &str) -> Result<u32, Error> {
        let index = self.len();
        self.insert(index, text)?;
        Ok(index)
    }

    /// Styles name their tags by strings.
    fn move_span_names(&mut self, inserted: u32) {
        // Styles may share spans; each is moved once.
        let mut names = BTreeSet::new();
        for style in &self.styles {
            let mut at = *style as usize;
            while u32_at(&self.style_data, at).is_some_and(|name| name != NONE) && names.insert(at) {
                at = at.saturating_add(12);
            }
        }
        for at in names {
            if let Some(name) = u32_at(&self.style_data, at).filter(|name| *name >= inserted) {
                put_u32(&mut self.style_data, at, name.saturating_add(1));
            }
        }
    }

    /// The size of the chunk, in bytes.
    pub(super) fn size(&self) -> usize {
        match &self.raw {
            Some(raw) => raw.len(),
            None => self.strings_start() + self.padded_data() + self.style_data.len().next_multiple_of(4),
        }
    }

    fn strings_start(&self) -> usize {
        HEADER + self.header_rest.len() + 4 * (self.offsets.len() + self.styles.len())
    }

    fn padded_data(&self) -> usize {
        self.data.len().next_multiple_of(4)
    }

    /// Appends the chunk.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(raw) = &self.raw {
            out.extend(raw);
            return;
        }
        // Sizes are checked by the document before an edit is kept.
        let number = |value: usize| u32::try_from(value).unwrap_or(NONE).to_le_bytes();
        let styles_start = if self.styles.is_empty() { 0 } else { self.strings_start() + self.padded_data() };
        out.extend([0x01, 0x00]);
        out.extend(u16::try_from(HEADER + self.header_rest.len()).unwrap_or(0).to_le_bytes());
        out.extend(number(self.size()));
        out.extend(number(self.offsets.len()));
        out.extend(number(self.styles.len()));
        out.extend(self.flags.to_le_bytes());
        out.extend(number(self.strings_start()));
        out.extend(number(styles_start));
        out.extend(&self.header_rest);
        out.extend(self.offsets.iter().chain(&self.styles).flat_map(|offset| offset.to_le_bytes()));
        for data in [&self.data, &self.style_data] {
            out.extend(data);
            out.resize(out.len() + data.len().next_multiple_of(4) - data.len(), 0);
        }
    }
}

/// A length of the UTF-8 form: one byte, or two with the high bit set, the higher first.
fn length8(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        [high, low, rest @ ..] if high & 0x80 != 0 => {
            Some((usize::from(high & 0x7f) << 8 | usize::from(*low), rest))
        }
        [length, rest @ ..] if length & 0x80 == 0 => Some((usize::from(*length), rest)),
        _ => None,
    }
}

/// A length of the UTF-16 form: one unit, or two with the high bit set, the higher first.
fn length16(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = (u16_at(bytes, 0)?, bytes.get(2..)?);
    if first & 0x8000 == 0 {
        return Some((usize::from(first), rest));
    }
    Some((usize::from(first & 0x7fff) << 16 | usize::from(u16_at(rest, 0)?), rest.get(2..)?))
}

#[cfg(test)]
impl StringPool {
    pub(super) fn is_sorted(&self) -> bool {
        self.flags & SORTED != 0
    }

    /// Name, first and last character of the spans of each style.
    pub(super) fn spans(&self) -> Vec<Vec<(u32, u32, u32)>> {
        let style = |start: &u32| {
            let spans = (0..).map(|i| *start as usize + 12 * i).map_while(|at| {
                let name = u32_at(&self.style_data, at).filter(|name| *name != NONE)?;
                Some((name, u32_at(&self.style_data, at + 4)?, u32_at(&self.style_data, at + 8)?))
            });
            spans.collect()
        };
        self.styles.iter().map(style).collect()
    }
}
