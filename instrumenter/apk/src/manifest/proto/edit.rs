//! Edits: bytes are spliced into a message, and the lengths of the messages around it are corrected.

use std::ops::Range;

use crate::protobuf::{put_bytes, put_number, put_varint};

use super::super::attribute::NAMESPACE;
use super::super::document::{Edit, Place};
use super::super::element::{NewAttribute, NewElement};
use super::super::error::Error;
use super::super::value::Value;
use super::wire::fields;
use super::{Document, ELEMENT_ATTRIBUTE, ELEMENT_CHILD, ELEMENT_NAME, Element, NODE_ELEMENT};

impl Edit for Document {
    fn set_attribute(&mut self, element: usize, new: &NewAttribute) -> Result<(), Error> {
        let Some(message) = self.elements.get(element).map(Element::range) else { return Ok(()) };
        let present = self.attributes(element).find(|(_, at)| self.is_android(at, new.attribute));
        let mut field = Vec::new();
        let place = match present {
            Some((range, _)) => {
                put_bytes(&mut field, ELEMENT_ATTRIBUTE, &self.changed_attribute(range.clone(), new));
                range
            }
            None => {
                put_bytes(&mut field, ELEMENT_ATTRIBUTE, &new_attribute(new));
                // Behind the other attributes, or before the children.
                let last = self.attributes(element).last().map(|(range, _)| range.end);
                let at = last.or_else(|| self.first_child(&message)).unwrap_or(message.end);
                at..at
            }
        };
        self.splice(element, place, &field)
    }

    fn insert(&mut self, place: Place, elements: &[NewElement]) -> Result<(), Error> {
        let (parent, at) = match place {
            Place::StartOf(element) => {
                let Some(message) = self.elements.get(element).map(Element::range) else { return Ok(()) };
                (element, self.first_child(&message).unwrap_or(message.end))
            }
            // The root has no siblings.
            Place::Before(element) => match self.elements.get(element) {
                Some(found) if found.parent != u32::MAX => (found.parent as usize, found.child_at as usize),
                _ => return Ok(()),
            },
        };
        let mut children = Vec::new();
        for new in elements {
            put_bytes(&mut children, ELEMENT_CHILD, &new_node(new));
        }
        self.splice(parent, at..at, &children)
    }
}

impl Document {
    /// Where the first field `child` starts.
    fn first_child(&self, message: &Range<usize>) -> Option<usize> {
        fields(&self.bytes, message.clone())
            .flatten()
            .find(|field| field.number == ELEMENT_CHILD)
            .map(|field| field.range.start)
    }

    /// The message of an attribute with another value. Unknown fields stay.
    fn changed_attribute(&self, range: Range<usize>, new: &NewAttribute) -> Vec<u8> {
        let mut out = Vec::new();
        let message = fields(&self.bytes, range)
            .flatten()
            .find_map(|field| field.bytes(ELEMENT_ATTRIBUTE))
            .unwrap_or(0..0);
        for field in fields(&self.bytes, message).flatten().filter(|field| !matches!(field.number, 3 | 6)) {
            out.extend(self.bytes.get(field.range).unwrap_or_default());
        }
        put_value(&mut out, new);
        out
    }

    /// Replaces `place`, a part of the message of `element`.
    fn splice(&mut self, element: usize, place: Range<usize>, new: &[u8]) -> Result<(), Error> {
        let mut bytes = self.bytes.clone();
        // From the inside out: lengths stand before what they count, so offsets further out have not moved.
        let mut change = new.len().cast_signed() - place.len().cast_signed();
        bytes.splice(place, new.iter().copied());
        let mut next = Some(element);
        while let Some(found) = next.and_then(|index| self.elements.get(index)) {
            for ((start, end), size) in
                [(found.message, found.length_sizes.1), (found.node, found.length_sizes.0)]
            {
                if size == 0 {
                    continue;
                }
                let length = ((end - start) as usize).saturating_add_signed(change);
                let mut encoded = Vec::new();
                put_varint(&mut encoded, length as u64);
                // Not always 0 or more: the length may have been padded.
                change += encoded.len().cast_signed() - isize::from(size.cast_signed());
                bytes.splice(start as usize - usize::from(size)..start as usize, encoded);
            }
            next = (found.parent != u32::MAX).then_some(found.parent as usize);
        }
        *self = Self::read(&bytes)?;
        Ok(())
    }
}

pub(super) fn new_node(new: &NewElement) -> Vec<u8> {
    let mut element = Vec::new();
    put_bytes(&mut element, ELEMENT_NAME, new.name.as_bytes());
    for attribute in new.sorted_attributes() {
        put_bytes(&mut element, ELEMENT_ATTRIBUTE, &new_attribute(attribute));
    }
    for child in &new.children {
        put_bytes(&mut element, ELEMENT_CHILD, &new_node(child));
    }
    let mut node = Vec::new();
    put_bytes(&mut node, NODE_ELEMENT, &element);
    node
}

fn new_attribute(new: &NewAttribute) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, 1, NAMESPACE.as_bytes());
    put_bytes(&mut out, 2, new.attribute.name.as_bytes());
    put_number(&mut out, 5, new.attribute.id.into());
    put_value(&mut out, new);
    out
}

/// The fields `value` and `compiled_item`. A string is not compiled, as aapt2 leaves it.
fn put_value(out: &mut Vec<u8>, new: &NewAttribute) {
    put_bytes(out, 3, new.value.text().unwrap_or(&new.text).as_bytes());
    let mut primitive = Vec::new();
    let mut item = Vec::new();
    match new.value {
        Value::Text(_) => return,
        // Protobuf extends the sign of an `int32` to 64 bits.
        Value::Integer(value) => put_number(&mut primitive, 6, i64::from(value).cast_unsigned()),
        Value::Hex(value) => put_number(&mut primitive, 7, value.into()),
        Value::Boolean(value) => put_number(&mut primitive, 8, value.into()),
        Value::Reference(id) => {
            let mut reference = Vec::new();
            put_number(&mut reference, 2, id.into());
            put_bytes(&mut item, 1, &reference);
        }
        // The primitive's type has no number here; the text is all there is.
        Value::Other { .. } => return,
    }
    if !primitive.is_empty() {
        put_bytes(&mut item, 7, &primitive);
    }
    put_bytes(out, 6, &item);
}
