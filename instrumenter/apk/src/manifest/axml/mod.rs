//! Binary XML (AXML), the form of `AndroidManifest.xml` in an APK.
//!
//! The format is that of AOSP `libs/androidfw/include/androidfw/ResourceTypes.h`. All numbers are little-endian; a chunk starts
//! with its type (16 bits), the size of its header (16 bits) and its whole size (32 bits), and references to strings are
//! indices in the string pool, `0xffffffff` for none.
//!
//! ```text
//!   0x0003 file
//!     0x0001 string pool
//!     0x0180 resource map        id of string i, for the strings that are names of attributes
//!     0x0100 start of namespace  0x0102 start of element   0x0104 text
//!     0x0101 end of namespace    0x0103 end of element
//! ```
//!
//! A [`Document`] keeps the bytes it was read from. An edit changes references in place and adds new chunks, so what an edit
//! does not name is written byte for byte, unknown chunks included.

mod chunk;
mod edit;
mod pool;
mod read;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::build::any_element;

use std::ops::Range;

use super::attribute::{Attribute, NAMESPACE};
use super::document;
use super::error::Malformed;
use super::value::Value;
use chunk::{AttributeAt, Chunk, Kind};
use pool::StringPool;

/// No string.
const NONE: u32 = u32::MAX;

/// A binary XML file.
#[derive(Clone, Debug)]
pub struct Document {
    /// What was read; chunks that an edit replaces or adds stand behind it.
    bytes: Vec<u8>,
    /// The file's header behind its size.
    header_rest: Range<usize>,
    /// The body, in order.
    chunks: Vec<Chunk>,
    /// Fewer bytes than a chunk has, within the file chunk.
    inner_rest: Range<usize>,
    /// What follows the file chunk.
    outer_rest: Range<usize>,
    pool: StringPool,
    /// Entry i is the resource id of string i.
    map: Vec<u32>,
    map_edited: bool,
    /// In document order.
    elements: Vec<Element>,
}

/// Where an element is.
#[derive(Clone, Copy, Debug)]
struct Element {
    /// Index of its start in [`Document::chunks`].
    chunk: usize,
    parent: Option<usize>,
}

impl Document {
    /// The chunk that starts an element.
    fn start_of(&self, element: usize) -> Option<Chunk> {
        self.chunks.get(self.elements.get(element)?.chunk).copied()
    }

    /// The attributes of an element, with their offsets in `bytes`.
    fn attributes(&self, element: usize) -> impl Iterator<Item = AttributeAt> + '_ {
        self.start_of(element).into_iter().flat_map(|chunk| chunk.attributes(&self.bytes))
    }

    /// True for an attribute that the system takes for this one: by the id of its name or, if its name has none, by namespace
    /// and name.
    fn is_android(&self, at: AttributeAt, attribute: Attribute) -> bool {
        match self.id_of_name(at) {
            Some(id) => id == attribute.id,
            None => {
                self.pool.is(at.name(&self.bytes), attribute.name)
                    && self.pool.is(at.namespace(&self.bytes), NAMESPACE)
            }
        }
    }

    /// The resource id of an attribute's name.
    fn id_of_name(&self, at: AttributeAt) -> Option<u32> {
        self.map.get(at.name(&self.bytes) as usize).copied()
    }

    fn value(&self, at: AttributeAt) -> Result<Value, Malformed> {
        let (kind, data) = at.typed(&self.bytes);
        Ok(match kind {
            chunk::TYPE_STRING => Value::Text(self.pool.decode(data)?),
            chunk::TYPE_DECIMAL => Value::Integer(data.cast_signed()),
            chunk::TYPE_HEX => Value::Hex(data),
            chunk::TYPE_BOOLEAN => Value::Boolean(data != 0),
            chunk::TYPE_REFERENCE => Value::Reference(data),
            kind => Value::Other { kind, data },
        })
    }
}

impl document::Document for Document {
    fn len(&self) -> usize {
        self.elements.len()
    }

    fn parent(&self, element: usize) -> Option<usize> {
        self.elements.get(element)?.parent
    }

    fn is_named(&self, element: usize, name: &str) -> bool {
        self.start_of(element).is_some_and(|chunk| self.pool.is(chunk.element_name(&self.bytes), name))
    }

    fn android_attribute(&self, element: usize, attribute: Attribute) -> Result<Option<Value>, Malformed> {
        self.attributes(element)
            .find(|at| self.is_android(*at, attribute))
            .map(|at| self.value(at))
            .transpose()
    }

    fn plain_attribute(&self, element: usize, name: &str) -> Result<Option<Value>, Malformed> {
        self.attributes(element)
            .find(|at| at.namespace(&self.bytes) == NONE && self.pool.is(at.name(&self.bytes), name))
            .map(|at| self.value(at))
            .transpose()
    }

    fn write(&self) -> Vec<u8> {
        let mut out = vec![0x03, 0x00];
        let header = 8 + self.header_rest.len();
        // The header was read with a 16-bit size.
        out.extend(u16::try_from(header).unwrap_or(8).to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.bytes.get(self.header_rest.clone()).unwrap_or_default());
        for chunk in &self.chunks {
            match chunk.kind {
                Kind::Pool => self.pool.write(&mut out),
                Kind::Map if self.map_edited => self.write_map(&mut out),
                _ => out.extend(chunk.bytes(&self.bytes)),
            }
        }
        out.extend(self.bytes.get(self.inner_rest.clone()).unwrap_or_default());
        // An edit that would pass 4 GiB is refused (`Document::check_size`).
        let size = u32::try_from(out.len()).unwrap_or(u32::MAX);
        if let Some(field) = out.get_mut(4..8) {
            field.copy_from_slice(&size.to_le_bytes());
        }
        out.extend(self.bytes.get(self.outer_rest.clone()).unwrap_or_default());
        out
    }
}
