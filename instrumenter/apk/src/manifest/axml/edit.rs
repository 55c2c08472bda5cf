//! Edits: new attributes and elements, and the strings they need.

use zip_archive::{u16_at, u32_at};

use super::super::attribute::{Attribute, NAMESPACE};
use super::super::document::{Edit, Place};
use super::super::element::{NewAttribute, NewElement};
use super::super::error::Error;
use super::super::value::Value;
use super::chunk::{
    ATTRIBUTE, AttributeAt, Chunk, ELEMENT_FIELDS, Kind, NODE_HEADER, TYPE_BOOLEAN, TYPE_DECIMAL, TYPE_HEX,
    TYPE_REFERENCE, TYPE_STRING, put_u16, put_u32,
};
use super::{Document, NONE, read};

impl Edit for Document {
    fn set_attribute(&mut self, element: usize, new: &NewAttribute) -> Result<(), Error> {
        if self.start_of(element).is_none() {
            return Ok(());
        }
        let mut draft = self.clone();
        draft.put_attribute(element, new)?;
        draft.check_size()?;
        *self = draft;
        Ok(())
    }

    fn insert(&mut self, place: Place, elements: &[NewElement]) -> Result<(), Error> {
        let (element, behind) = match place {
            Place::StartOf(element) => (element, 1),
            Place::Before(element) => (element, 0),
        };
        let Some(chunk) = self.start_of(element) else { return Ok(()) };
        let line = chunk.line(&self.bytes);
        let mut draft = self.clone();
        elements.iter().try_for_each(|new| draft.add_attribute_names(new))?;
        let mut chunks = Vec::new();
        elements.iter().try_for_each(|new| draft.append_element(new, line, &mut chunks))?;
        // The chunk of a new resource map may have moved it.
        let at = draft.elements.get(element).map_or(0, |element| element.chunk) + behind;
        draft.chunks.splice(at..at, chunks);
        draft.elements = read::elements(&draft.chunks)?;
        draft.check_size()?;
        *self = draft;
        Ok(())
    }
}

impl Document {
    /// Sizes have 32 bits.
    fn check_size(&self) -> Result<(), Error> {
        let body: usize = self.chunks.iter().map(|chunk| chunk.end - chunk.start).sum();
        let most = body.saturating_add(self.pool.size()).saturating_add(4 * self.map.len() + 0x1_0000);
        u32::try_from(most).map(drop).map_err(|_| Error::TooLarge)
    }

    fn put_attribute(&mut self, element: usize, new: &NewAttribute) -> Result<(), Error> {
        let present = self.attributes(element).find(|at| self.is_android(*at, new.attribute));
        if let Some(at) = present {
            let (raw, kind, data) = self.compiled(&new.value)?;
            at.put(&mut self.bytes, raw, kind, data);
            return Ok(());
        }
        let name = self.attribute_name(new.attribute)?;
        let namespace = self.string(NAMESPACE)?;
        let (raw, kind, data) = self.compiled(&new.value)?;
        let Some(chunk) = self.start_of(element) else { return Ok(()) };
        let (start, each, count) = chunk.attribute_table(&self.bytes);
        // An element without attributes may have any values here.
        let (start, each) = if count == 0 { (ELEMENT_FIELDS, ATTRIBUTE) } else { (start, each) };
        let new_count = u16::try_from(count + 1).map_err(|_| Error::TooLarge)?;
        // The system expects ascending ids; aapt2 puts names without an id last.
        let behind =
            self.attributes(element).find(|at| self.id_of_name(*at).is_none_or(|id| id > new.attribute.id));
        let index = behind.map_or(count, |at| at.index);

        let mut copy = chunk.bytes(&self.bytes).to_vec();
        let fields = chunk.fields() - chunk.start;
        let at = fields + start + index * each;
        copy.splice(at..at, std::iter::repeat_n(0, each));
        put_u32(&mut copy, at, namespace);
        put_u32(&mut copy, at + 4, name);
        AttributeAt { index, at }.put(&mut copy, raw, kind, data);
        put_u16(&mut copy, fields + 8, u16::try_from(start).map_err(|_| Error::TooLarge)?);
        put_u16(&mut copy, fields + 10, u16::try_from(each).map_err(|_| Error::TooLarge)?);
        put_u16(&mut copy, fields + 12, new_count);
        // `id`, `class` and `style` are numbers of attributes, from 1.
        for special in [14, 16, 18] {
            if let Some(number) =
                u16_at(&copy, fields + special).filter(|number| usize::from(*number) > index)
            {
                put_u16(&mut copy, fields + special, number.saturating_add(1));
            }
        }
        let size = u32::try_from(copy.len()).map_err(|_| Error::TooLarge)?;
        put_u32(&mut copy, 4, size);
        let from = self.bytes.len();
        self.bytes.extend(copy);
        let moved = chunk.moved_to(from..self.bytes.len());
        if let Some(slot) = self.elements.get(element).and_then(|element| self.chunks.get_mut(element.chunk))
        {
            *slot = moved;
        }
        Ok(())
    }

    /// Makes room for the names of all attributes, which moves strings.
    fn add_attribute_names(&mut self, new: &NewElement) -> Result<(), Error> {
        for attribute in new.sorted_attributes() {
            self.attribute_name(attribute.attribute)?;
        }
        new.children.iter().try_for_each(|child| self.add_attribute_names(child))
    }

    /// Appends the chunks of an element whose attributes have their names already.
    fn append_element(&mut self, new: &NewElement, line: u32, chunks: &mut Vec<Chunk>) -> Result<(), Error> {
        let name = self.string(&new.name)?;
        let count = u16::try_from(new.attributes.len()).map_err(|_| Error::TooLarge)?;
        // Without a namespace.
        let name = [NONE, name].map(u32::to_le_bytes).concat();
        let mut fields = name.clone();
        // Start and size of the attributes, their number, no `id`, `class` or `style`.
        for value in [20u16, 20, count, 0, 0, 0] {
            fields.extend(value.to_le_bytes());
        }
        for attribute in new.sorted_attributes() {
            let (raw, kind, data) = self.compiled(&attribute.value)?;
            for value in [self.string(NAMESPACE)?, self.attribute_name(attribute.attribute)?, raw] {
                fields.extend(value.to_le_bytes());
            }
            fields.extend([8, 0, 0, kind]);
            fields.extend(data.to_le_bytes());
        }
        chunks.push(self.append_node(Kind::StartElement, 0x0102, line, &fields)?);
        new.children.iter().try_for_each(|child| self.append_element(child, line, chunks))?;
        chunks.push(self.append_node(Kind::EndElement, 0x0103, line, &name)?);
        Ok(())
    }

    fn append_node(&mut self, kind: Kind, number: u16, line: u32, fields: &[u8]) -> Result<Chunk, Error> {
        let start = self.bytes.len();
        let size = u32::try_from(NODE_HEADER + fields.len()).map_err(|_| Error::TooLarge)?;
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend([16, 0]);
        for value in [size, line, NONE] {
            self.bytes.extend(value.to_le_bytes());
        }
        self.bytes.extend(fields);
        Ok(Chunk::appended(kind, start..self.bytes.len()))
    }

    /// Raw value, `dataType` and `data`.
    fn compiled(&mut self, value: &Value) -> Result<(u32, u8, u32), Error> {
        Ok(match value {
            Value::Text(text) => {
                let string = self.string(text)?;
                (string, TYPE_STRING, string)
            }
            Value::Integer(value) => (NONE, TYPE_DECIMAL, value.cast_unsigned()),
            Value::Hex(value) => (NONE, TYPE_HEX, *value),
            Value::Boolean(value) => (NONE, TYPE_BOOLEAN, if *value { u32::MAX } else { 0 }),
            Value::Reference(id) => (NONE, TYPE_REFERENCE, *id),
            Value::Other { kind, data } => (NONE, *kind, *data),
        })
    }

    /// The index of a string, which is appended if the pool does not have it.
    fn string(&mut self, text: &str) -> Result<u32, Error> {
        if let Some(index) = self.pool.find(text, 0) {
            return Ok(index);
        }
        // If the map that was read is longer than the pool, one of its entries would give the new string an id.
        self.map_edited = true;
        self.pool.append(text)
    }

    /// The index of an attribute's name: a string with this text whose entry in the resource map is the attribute's id. If there
    /// is no such string, it goes in behind the strings that have an id, and all references to strings behind it move.
    fn attribute_name(&mut self, attribute: Attribute) -> Result<u32, Error> {
        let present = self
            .map
            .iter()
            .zip(0..)
            .find(|(id, index)| **id == attribute.id && self.pool.is(*index, attribute.name));
        if let Some((_, index)) = present {
            return Ok(index);
        }
        let index = u32::try_from(self.map.len()).map_err(|_| Error::TooLarge)?;
        self.pool.insert(index, attribute.name)?;
        for chunk in &self.chunks {
            for at in chunk.references(&self.bytes) {
                if let Some(string) =
                    u32_at(&self.bytes, at).filter(|string| *string != NONE && *string >= index)
                {
                    put_u32(&mut self.bytes, at, string + 1);
                }
            }
        }
        self.add_to_map(attribute.id);
        Ok(index)
    }

    fn add_to_map(&mut self, id: u32) {
        self.map.push(id);
        self.map_edited = true;
        if self.chunks.iter().any(|chunk| chunk.kind == Kind::Map) {
            return;
        }
        let behind =
            self.chunks.iter().position(|chunk| chunk.kind == Kind::Pool).map_or(0, |index| index + 1);
        let end = self.bytes.len();
        self.chunks.insert(behind, Chunk::appended(Kind::Map, end..end));
        for element in &mut self.elements {
            element.chunk += usize::from(element.chunk >= behind);
        }
    }

    /// Appends the resource map's chunk.
    pub(super) fn write_map(&self, out: &mut Vec<u8>) {
        let size = u32::try_from(8 + 4 * self.map.len()).unwrap_or(u32::MAX);
        out.extend([0x80, 0x01, 0x08, 0x00]);
        out.extend(size.to_le_bytes());
        out.extend(self.map.iter().flat_map(|id| id.to_le_bytes()));
    }
}
