//! The manifest of an App Bundle: the message `aapt.pb.XmlNode` of AOSP `tools/aapt2/Resources.proto`.
//!
//! ```text
//!   XmlNode      { element = 1, text = 2, source = 3 }
//!   XmlElement   { namespace_declaration = 1, namespace_uri = 2, name = 3, attribute = 4, child = 5 }
//!   XmlAttribute { namespace_uri = 1, name = 2, value = 3, source = 4, resource_id = 5, compiled_item = 6 }
//!   Item         { ref = 1, str = 2, raw_str = 3, ..., prim = 7 }
//!   Reference    { type = 1, id = 2, ... }
//!   Primitive    { int_decimal_value = 6, int_hexadecimal_value = 7, boolean_value = 8, ... }
//! ```
//!
//! A [`Document`] is the file's bytes with an index of its elements. An edit splices bytes in and corrects the lengths of the
//! messages around them, so fields that this program does not know stay as they are.

mod edit;
#[cfg(test)]
mod tests;
mod wire;

use std::ops::Range;

use super::attribute::{Attribute, NAMESPACE};
use super::document;
use super::error::Malformed;
use super::value::Value;
use super::{MAX_DEPTH, MAX_SIZE};
use wire::{Field, Payload, fields};

/// `XmlNode.element`.
const NODE_ELEMENT: u64 = 1;
/// `XmlElement.name`.
const ELEMENT_NAME: u64 = 3;
/// `XmlElement.attribute`.
const ELEMENT_ATTRIBUTE: u64 = 4;
/// `XmlElement.child`.
const ELEMENT_CHILD: u64 = 5;

/// A manifest in protobuf.
#[derive(Clone, Debug)]
pub struct Document {
    bytes: Vec<u8>,
    /// In document order.
    elements: Vec<Element>,
}

/// Where an element is. Offsets fit 32 bits, because files of more than 16 MiB are not read.
#[derive(Clone, Copy, Debug)]
struct Element {
    /// `u32::MAX` for the root.
    parent: u32,
    /// The field `child` of the parent's `XmlElement` starts here; for the root 0.
    child_at: u32,
    /// Start and end of the message `XmlNode`.
    node: (u32, u32),
    /// Start and end of the message `XmlElement`.
    message: (u32, u32),
    /// Sizes of the lengths directly before `node` and `message`, in bytes. 0 for the root's node, which has none.
    length_sizes: (u8, u8),
}

impl Element {
    fn range(&self) -> Range<usize> {
        self.message.0 as usize..self.message.1 as usize
    }
}

/// An attribute as ranges of the file.
#[derive(Clone, Debug, Default)]
struct AttributeAt {
    namespace: Range<usize>,
    name: Range<usize>,
    value: Range<usize>,
    id: u32,
    item: Option<Range<usize>>,
}

impl Document {
    /// Reads a file of at most [`MAX_SIZE`] bytes.
    ///
    /// # Errors
    ///
    /// Names the offset of what does not follow the wire format, and of elements that are nested deeper than [`MAX_DEPTH`].
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        Malformed::when(bytes.len() > MAX_SIZE, 0, "the file is larger than 16 MiB")?;
        let mut elements = Vec::new();
        // Nodes to read: the last one next. Children are pushed in reverse, which gives document order.
        let mut nodes = vec![(Node { child_at: 0, length_size: 0, range: 0..bytes.len() }, u32::MAX, 0)];
        while let Some((node, parent, depth)) = nodes.pop() {
            let Some((message, length_size)) = element_of(bytes, node.range.clone())? else { continue };
            Malformed::when(depth >= MAX_DEPTH, message.start, "elements are nested deeper than 256")?;
            let number = small(elements.len())?;
            let first = nodes.len();
            for field in fields(bytes, message.clone()) {
                let field = field?;
                if let (ELEMENT_CHILD, Payload::Bytes { length, bytes }) = (field.number, field.payload) {
                    let length_size = u8::try_from(length.len()).unwrap_or(0);
                    let node = Node { child_at: field.range.start, length_size, range: bytes };
                    nodes.push((node, number, depth + 1));
                }
            }
            nodes.get_mut(first..).unwrap_or_default().reverse();
            elements.push(Element {
                parent,
                child_at: small(node.child_at)?,
                node: (small(node.range.start)?, small(node.range.end)?),
                message: (small(message.start)?, small(message.end)?),
                length_sizes: (node.length_size, length_size),
            });
        }
        Malformed::when(elements.is_empty(), 0, "the file has no element")?;
        let document = Self { bytes: bytes.to_vec(), elements };
        for element in &document.elements {
            for field in fields(bytes, element.range()) {
                document.attribute(&field?)?;
            }
        }
        Ok(document)
    }

    /// The attribute in a field of an element; `None` if it is another field.
    fn attribute(&self, field: &Field) -> Result<Option<AttributeAt>, Malformed> {
        let Some(range) = field.bytes(ELEMENT_ATTRIBUTE) else { return Ok(None) };
        let mut attribute = AttributeAt::default();
        for field in fields(&self.bytes, range) {
            let field = field?;
            match (field.number, &field.payload) {
                (1, Payload::Bytes { bytes, .. }) => attribute.namespace = bytes.clone(),
                (2, Payload::Bytes { bytes, .. }) => attribute.name = bytes.clone(),
                (3, Payload::Bytes { bytes, .. }) => attribute.value = bytes.clone(),
                (5, Payload::Varint(id)) => attribute.id = low(*id),
                (6, Payload::Bytes { bytes, .. }) => attribute.item = Some(bytes.clone()),
                _ => {}
            }
        }
        Ok(Some(attribute))
    }

    /// The attributes of an element, each with the range of its field.
    fn attributes(&self, element: usize) -> impl Iterator<Item = (Range<usize>, AttributeAt)> + '_ {
        let range = self.elements.get(element).map_or(0..0, Element::range);
        // All have been read before.
        fields(&self.bytes, range).flatten().filter_map(|field| {
            let attribute = self.attribute(&field).ok()??;
            Some((field.range, attribute))
        })
    }

    fn is_text(&self, range: &Range<usize>, text: &str) -> bool {
        self.bytes.get(range.clone()) == Some(text.as_bytes())
    }

    /// True for an attribute that becomes this one in an APK: by id or, if it has none, by namespace and name.
    fn is_android(&self, at: &AttributeAt, attribute: Attribute) -> bool {
        match at.id {
            0 => self.is_text(&at.namespace, NAMESPACE) && self.is_text(&at.name, attribute.name),
            id => id == attribute.id,
        }
    }

    fn text(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(self.bytes.get(range).unwrap_or_default()).into_owned()
    }

    fn value(&self, at: AttributeAt) -> Result<Value, Malformed> {
        let Some(item) = at.item else { return Ok(Value::Text(self.text(at.value))) };
        let mut value = Value::Other { kind: 0, data: 0 };
        for field in fields(&self.bytes, item) {
            let field = field?;
            match (field.number, field.payload) {
                // Reference.
                (1, Payload::Bytes { bytes, .. }) => {
                    for field in fields(&self.bytes, bytes) {
                        if let Field { number: 2, payload: Payload::Varint(id), .. } = field? {
                            value = Value::Reference(low(id));
                        }
                    }
                }
                // String, RawString.
                (2 | 3, Payload::Bytes { bytes, .. }) => {
                    value = Value::Text(String::new());
                    for field in fields(&self.bytes, bytes) {
                        if let Some(text) = field?.bytes(1) {
                            value = Value::Text(self.text(text));
                        }
                    }
                }
                // Primitive.
                (7, Payload::Bytes { bytes, .. }) => {
                    for field in fields(&self.bytes, bytes) {
                        let field = field?;
                        value = match (field.number, field.payload) {
                            (6, Payload::Varint(number)) => Value::Integer(low(number).cast_signed()),
                            (7, Payload::Varint(number)) => Value::Hex(low(number)),
                            (8, Payload::Varint(number)) => Value::Boolean(number != 0),
                            _ => continue,
                        };
                    }
                }
                _ => {}
            }
        }
        Ok(value)
    }
}

/// A message `XmlNode` that is to be read.
struct Node {
    child_at: usize,
    length_size: u8,
    range: Range<usize>,
}

/// The message `XmlElement` of a node and the size of its length; `None` for a node of text.
fn element_of(bytes: &[u8], node: Range<usize>) -> Result<Option<(Range<usize>, u8)>, Malformed> {
    let mut element = None;
    for field in fields(bytes, node) {
        let field = field?;
        if let (NODE_ELEMENT, Payload::Bytes { length, bytes }) = (field.number, field.payload) {
            // A protobuf reader would merge the two.
            Malformed::when(element.is_some(), field.range.start, "a node with two elements")?;
            element = Some((bytes, u8::try_from(length.len()).unwrap_or(0)));
        }
    }
    Ok(element)
}

/// The low 32 bits, to which protobuf cuts a 32-bit field.
fn low(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// An offset or number in a file of at most 16 MiB.
fn small(value: usize) -> Result<u32, Malformed> {
    u32::try_from(value).map_err(|_| Malformed::new(0, "the file is larger than 16 MiB"))
}

impl document::Document for Document {
    fn len(&self) -> usize {
        self.elements.len()
    }

    fn parent(&self, element: usize) -> Option<usize> {
        let parent = self.elements.get(element)?.parent;
        (parent != u32::MAX).then_some(parent as usize)
    }

    fn is_named(&self, element: usize, name: &str) -> bool {
        let range = self.elements.get(element).map_or(0..0, Element::range);
        // The last one counts, as in any protobuf reader.
        let last = fields(&self.bytes, range).flatten().filter_map(|field| field.bytes(ELEMENT_NAME)).last();
        last.is_some_and(|range| self.is_text(&range, name))
    }

    fn android_attribute(&self, element: usize, attribute: Attribute) -> Result<Option<Value>, Malformed> {
        let found = self.attributes(element).find(|(_, at)| self.is_android(at, attribute));
        found.map(|(_, at)| self.value(at)).transpose()
    }

    fn plain_attribute(&self, element: usize, name: &str) -> Result<Option<Value>, Malformed> {
        let found =
            self.attributes(element).find(|(_, at)| at.namespace.is_empty() && self.is_text(&at.name, name));
        found.map(|(_, at)| self.value(at)).transpose()
    }

    fn write(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}
