//! The chunks of a document's body and the places of their fields.
//!
//! Fields are read and patched at offsets, so that what this program does not know of a chunk stays as it is.

use std::ops::Range;

use zip_archive::{u16_at, u32_at};

use super::super::error::Malformed;
use super::NONE;

/// `dataType` of `Res_value`.
pub(super) const TYPE_REFERENCE: u8 = 0x01;
pub(super) const TYPE_STRING: u8 = 0x03;
pub(super) const TYPE_DECIMAL: u8 = 0x10;
pub(super) const TYPE_HEX: u8 = 0x11;
pub(super) const TYPE_BOOLEAN: u8 = 0x12;

/// The header of a chunk that belongs to the tree: type, sizes, line, comment.
pub(super) const NODE_HEADER: usize = 16;
/// Namespace, name, start, size and number of attributes, indices of `id`, `class` and `style`.
pub(super) const ELEMENT_FIELDS: usize = 20;
/// Namespace, name, raw value, `Res_value`.
pub(super) const ATTRIBUTE: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pool,
    Map,
    StartNamespace,
    EndNamespace,
    StartElement,
    EndElement,
    Text,
    Unknown,
}

/// A chunk, as a range of the document's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where the fields behind the header start.
    fields: usize,
}

pub(super) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(field) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *field = value.to_le_bytes();
    }
}

pub(super) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(field) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *field = value.to_le_bytes();
    }
}

/// The header of the chunk at `at`, which may reach to `end`: type, size of the header, size.
pub(super) fn header(bytes: &[u8], at: usize, end: usize) -> Result<(u16, usize, usize), Malformed> {
    let truncated = Malformed::new(at, "the file ends within the header of a chunk");
    let kind = u16_at(bytes, at).ok_or(truncated)?;
    let header = usize::from(u16_at(bytes, at + 2).ok_or(truncated)?);
    let size = u32_at(bytes, at + 4).ok_or(truncated)? as usize;
    Malformed::when(header < 8 || size < header, at, "a chunk is shorter than its header")?;
    if end.checked_sub(at).is_none_or(|rest| rest < size) {
        return Err(Malformed::new(at, "a chunk is longer than what contains it"));
    }
    Ok((kind, header, size))
}

impl Chunk {
    /// The chunk at `at`, before `end`; its fields are checked to be within it.
    pub(super) fn read(bytes: &[u8], at: usize, end: usize) -> Result<Self, Malformed> {
        let (kind, header, size) = header(bytes, at, end)?;
        let (kind, fields) = match kind {
            0x0001 => (Kind::Pool, 0),
            0x0180 => (Kind::Map, 0),
            0x0100 => (Kind::StartNamespace, 8),
            0x0101 => (Kind::EndNamespace, 8),
            0x0102 => (Kind::StartElement, ELEMENT_FIELDS),
            0x0103 => (Kind::EndElement, 8),
            0x0104 => (Kind::Text, 12),
            _ => (Kind::Unknown, 0),
        };
        let chunk = Self { kind, start: at, end: at + size, fields: at + header };
        if fields > 0 && (header < NODE_HEADER || size - header < fields) {
            return Err(Malformed::new(at, "a chunk of the tree is too short for its fields"));
        }
        if kind == Kind::StartElement {
            let (start, each, count) = chunk.attribute_table(bytes);
            // Fields that overlap could not be edited each by itself.
            if count > 0 && (start < ELEMENT_FIELDS || each < ATTRIBUTE) {
                let what = "the attributes of an element overlap each other or the element";
                return Err(Malformed::new(at, what));
            }
            if count > 0 && start + each * count > size - header {
                return Err(Malformed::new(at, "the attributes of an element do not fit into its chunk"));
            }
        }
        Ok(chunk)
    }

    pub(super) fn bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The offset of the fields behind the header.
    pub(super) fn fields(&self) -> usize {
        self.fields
    }

    pub(super) fn line(&self, bytes: &[u8]) -> u32 {
        u32_at(bytes, self.start + 8).unwrap_or(0)
    }

    /// The name of an element, of its start or its end.
    pub(super) fn element_name(&self, bytes: &[u8]) -> u32 {
        u32_at(bytes, self.fields + 4).unwrap_or(NONE)
    }

    /// Offset of the attributes from the fields, size of each, number. Sums and products of these 16-bit numbers cannot
    /// overflow.
    pub(super) fn attribute_table(&self, bytes: &[u8]) -> (usize, usize, usize) {
        let field = |offset| usize::from(u16_at(bytes, self.fields + offset).unwrap_or(0));
        (field(8), field(10), field(12))
    }

    pub(super) fn attributes(&self, bytes: &[u8]) -> impl Iterator<Item = AttributeAt> + use<> {
        let (start, each, count) = self.attribute_table(bytes);
        let first = self.fields + start;
        let count = if self.kind == Kind::StartElement { count } else { 0 };
        (0..count).map(move |index| AttributeAt { index, at: first + index * each })
    }

    /// The offsets of all references to strings. Typed values are included if they are strings.
    pub(super) fn references(&self, bytes: &[u8]) -> Vec<usize> {
        if matches!(self.kind, Kind::Pool | Kind::Map | Kind::Unknown) {
            return Vec::new();
        }
        // The comment, and the first field.
        let mut all = vec![self.start + 12, self.fields];
        match self.kind {
            Kind::Text => all.extend(typed_string(bytes, self.fields + 4)),
            _ => all.push(self.fields + 4),
        }
        for attribute in self.attributes(bytes) {
            all.extend([attribute.at, attribute.at + 4, attribute.at + 8]);
            all.extend(typed_string(bytes, attribute.at + 12));
        }
        all
    }

    /// The range of the bytes of a new chunk, which is known to be well formed.
    pub(super) fn appended(kind: Kind, range: Range<usize>) -> Self {
        Self { kind, start: range.start, end: range.end, fields: range.start + NODE_HEADER }
    }

    /// The same chunk, copied to another place.
    pub(super) fn moved_to(&self, range: Range<usize>) -> Self {
        let fields = range.start + (self.fields - self.start);
        Self { kind: self.kind, start: range.start, end: range.end, fields }
    }
}

/// The offset of the reference in the `Res_value` at `at`, if it is a string.
fn typed_string(bytes: &[u8], at: usize) -> Option<usize> {
    (bytes.get(at + 3) == Some(&TYPE_STRING)).then_some(at + 4)
}

/// An attribute of an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttributeAt {
    /// Among the element's attributes.
    pub(super) index: usize,
    /// Offset in the document's bytes.
    pub(super) at: usize,
}

impl AttributeAt {
    pub(super) fn namespace(self, bytes: &[u8]) -> u32 {
        u32_at(bytes, self.at).unwrap_or(NONE)
    }

    pub(super) fn name(self, bytes: &[u8]) -> u32 {
        u32_at(bytes, self.at + 4).unwrap_or(NONE)
    }

    /// `dataType` and `data`.
    pub(super) fn typed(self, bytes: &[u8]) -> (u8, u32) {
        let kind = bytes.get(self.at + 15).copied().unwrap_or(0);
        (kind, u32_at(bytes, self.at + 16).unwrap_or(0))
    }

    /// Replaces raw value and typed value.
    pub(super) fn put(self, bytes: &mut [u8], raw: u32, kind: u8, data: u32) {
        put_u32(bytes, self.at + 8, raw);
        put_u16(bytes, self.at + 12, 8);
        put_u16(bytes, self.at + 14, u16::from(kind) << 8);
        put_u32(bytes, self.at + 16, data);
    }
}
