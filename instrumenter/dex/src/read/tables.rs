//! The tables of identifiers.

use std::borrow::Cow;

use super::Reader;
use super::cursor::Cursor;
use super::header::Table;
use crate::uses::{MAX_MEMBERS, MAX_TYPES};
use crate::{CallSite, Field, Handle, Malformed, Method, Proto, mutf8};

impl<'a> Reader<'a, '_> {
    /// A cursor at a table, all of which is within the file.
    pub(super) fn table(
        &self,
        table: Table,
        entry: usize,
        max: usize,
    ) -> Result<(Cursor<'a>, usize), Malformed> {
        let cursor = Cursor::new(self.bytes, table.at as usize);
        if table.size == 0 {
            return Ok((cursor, 0));
        }
        let size = table.size as usize;
        if size > max {
            return Err(cursor.error("a table has more entries than the format allows"));
        }
        if !table.at.is_multiple_of(4) {
            return Err(cursor.error("a table is not aligned"));
        }
        if size > cursor.left() / entry {
            return Err(cursor.error("a table is longer than the file"));
        }
        self.budget.item(cursor.at(), cursor.at().saturating_add(size.saturating_mul(entry)))?;
        Ok((cursor, size))
    }

    pub(super) fn strings(&self) -> Result<Vec<Cow<'a, [u8]>>, Malformed> {
        let (mut cursor, size) = self.table(self.header.strings, 4, u32::MAX as usize)?;
        let mut strings: Vec<Cow<'a, [u8]>> = Vec::with_capacity(size);
        for _ in 0..size {
            let string = self.string(cursor.u32()? as usize)?;
            if strings.last().is_some_and(|last| mutf8::compare(last, string).is_ge()) {
                return Err(cursor.error("the strings are not in order"));
            }
            strings.push(Cow::Borrowed(string));
        }
        Ok(strings)
    }

    fn string(&self, at: usize) -> Result<&'a [u8], Malformed> {
        let mut cursor = Cursor::new(self.bytes, at);
        let units = cursor.uleb()? as usize;
        let start = cursor.at();
        let rest = self.bytes.get(start..).unwrap_or_default();
        if let Some((string, [0, ..])) = rest.split_at_checked(units)
            && string.is_ascii()
            && !string.contains(&0)
        {
            self.budget.item(at, start.saturating_add(units).saturating_add(1))?;
            return Ok(string);
        }
        // The zero is not searched beyond what the units can take.
        let longest = rest.get(..units.saturating_mul(3).saturating_add(1)).unwrap_or(rest);
        let length = longest.iter().position(|&byte| byte == 0);
        let string = length.and_then(|length| rest.get(..length));
        let string = string.ok_or(Malformed { at, what: "a string is longer than it says" })?;
        self.budget.item(at, start.saturating_add(string.len()).saturating_add(1))?;
        if mutf8::utf16_length(string) != Some(units) {
            return Err(Malformed {
                at,
                what: "a string is not valid MUTF-8, or has another length than it says",
            });
        }
        Ok(string)
    }

    pub(super) fn types(&self, strings: &[Cow<'a, [u8]>]) -> Result<Vec<u32>, Malformed> {
        let (mut cursor, size) = self.table(self.header.types, 4, MAX_TYPES)?;
        let mut types = Vec::with_capacity(size);
        for _ in 0..size {
            let at = cursor.at();
            let string = cursor.u32()?;
            if types.last().is_some_and(|&last| last >= string) {
                return Err(Malformed { at, what: "the types are not in order" });
            }
            let descriptor = strings.get(string as usize);
            let descriptor =
                descriptor.ok_or(Malformed { at, what: "a string index is outside of the table" })?;
            if !is_descriptor(descriptor) {
                return Err(Malformed { at, what: "a type has an invalid descriptor" });
            }
            types.push(string);
        }
        Ok(types)
    }

    pub(super) fn protos(&self, strings: &[Cow<'a, [u8]>], types: &[u32]) -> Result<Vec<Proto>, Malformed> {
        let (mut cursor, size) = self.table(self.header.protos, 12, MAX_TYPES)?;
        let mut protos: Vec<Proto> = Vec::with_capacity(size);
        let short = |kind: u32| {
            let descriptor = strings.get(*types.get(kind as usize)? as usize)?;
            descriptor.first().map(|&first| if first == b'[' { b'L' } else { first })
        };
        for _ in 0..size {
            let at = cursor.at();
            let (shorty, result, parameters) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
            let proto = Proto { shorty, result, parameters: self.type_list(parameters)? };
            let text = strings.get(shorty as usize);
            let text = text.ok_or(Malformed { at, what: "a string index is outside of the table" })?;
            self.check_type(result, at)?;
            let letters = std::iter::once(&result).chain(&proto.parameters).map(|&kind| short(kind));
            if !letters.eq(text.iter().copied().map(Some))
                || proto.parameters.iter().any(|&kind| short(kind) == Some(b'V'))
            {
                return Err(Malformed { at, what: "the short form of a proto does not match its types" });
            }
            let ordered = |last: &Proto| (last.result, &last.parameters) < (proto.result, &proto.parameters);
            if !protos.last().is_none_or(ordered) {
                return Err(Malformed { at, what: "the protos are not in order" });
            }
            protos.push(proto);
        }
        Ok(protos)
    }

    pub(super) fn fields(&self) -> Result<Vec<Field>, Malformed> {
        let (mut cursor, size) = self.table(self.header.fields, 8, MAX_MEMBERS)?;
        let mut fields: Vec<Field> = Vec::with_capacity(size);
        for _ in 0..size {
            let at = cursor.at();
            let (class, kind) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
            let field = Field { class, kind, name: cursor.u32()? };
            self.check_type(class, at)?;
            self.check_type(kind, at)?;
            self.check_string(field.name, at)?;
            let key = |field: &Field| (field.class, field.name, field.kind);
            if fields.last().is_some_and(|last| key(last) >= key(&field)) {
                return Err(Malformed { at, what: "the fields are not in order" });
            }
            fields.push(field);
        }
        Ok(fields)
    }

    pub(super) fn methods(&self) -> Result<Vec<Method>, Malformed> {
        let (mut cursor, size) = self.table(self.header.methods, 8, MAX_MEMBERS)?;
        let mut methods: Vec<Method> = Vec::with_capacity(size);
        for _ in 0..size {
            let at = cursor.at();
            let (class, proto) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
            let method = Method { class, proto, name: cursor.u32()? };
            self.check_type(class, at)?;
            if proto >= self.header.protos.size {
                return Err(Malformed { at, what: "a proto index is outside of the table" });
            }
            self.check_string(method.name, at)?;
            let key = |method: &Method| (method.class, method.name, method.proto);
            if methods.last().is_some_and(|last| key(last) >= key(&method)) {
                return Err(Malformed { at, what: "the methods are not in order" });
            }
            methods.push(method);
        }
        Ok(methods)
    }

    pub(super) fn handles(&self) -> Result<Vec<Handle>, Malformed> {
        let (mut cursor, size) = self.table(self.header.handles, 8, MAX_MEMBERS)?;
        let mut handles = Vec::with_capacity(size);
        for _ in 0..size {
            let at = cursor.at();
            let kind = cursor.u16()?;
            cursor.u16()?;
            let target = u32::from(cursor.u16()?);
            cursor.u16()?;
            let table = match kind {
                0..=3 => self.header.fields,
                4..=8 => self.header.methods,
                _ => return Err(Malformed { at, what: "a method handle has an unknown type" }),
            };
            if target >= table.size {
                return Err(Malformed { at, what: "a method handle refers to no member" });
            }
            handles.push(Handle { kind, target });
        }
        Ok(handles)
    }

    pub(super) fn call_sites(&self) -> Result<Vec<CallSite>, Malformed> {
        let (mut cursor, size) = self.table(self.header.call_sites, 4, MAX_MEMBERS)?;
        (0..size).map(|_| self.encoded_array(cursor.u32()? as usize)).collect()
    }

    /// The `type_list` at an offset; empty at 0.
    pub(super) fn type_list(&self, at: u32) -> Result<Box<[u32]>, Malformed> {
        if at == 0 {
            return Ok(Box::default());
        }
        let at = at as usize;
        if !at.is_multiple_of(4) {
            return Err(Malformed { at, what: "a type list is not aligned" });
        }
        let mut cursor = Cursor::new(self.bytes, at);
        let size = cursor.u32()? as usize;
        if size > cursor.left() / 2 {
            return Err(Malformed { at, what: "a type list is longer than the file" });
        }
        self.budget.memory::<u32>(at, size)?;
        let mut types = Vec::with_capacity(size);
        for _ in 0..size {
            let kind = u32::from(cursor.u16()?);
            self.check_type(kind, at)?;
            types.push(kind);
        }
        Ok(types.into())
    }

    pub(super) fn check_type(&self, index: u32, at: usize) -> Result<(), Malformed> {
        if index < self.header.types.size {
            Ok(())
        } else {
            Err(Malformed { at, what: "a type index is outside of the table" })
        }
    }

    pub(super) fn check_string(&self, index: u32, at: usize) -> Result<(), Malformed> {
        if index < self.header.strings.size {
            Ok(())
        } else {
            Err(Malformed { at, what: "a string index is outside of the table" })
        }
    }
}

/// Whether a string can be that of a type: one letter, or `L...;`, with up to 255 `[` in front.
fn is_descriptor(string: &[u8]) -> bool {
    let dimensions = string.iter().take_while(|&&byte| byte == b'[').count();
    match string.get(dimensions..) {
        Some([b'V']) => dimensions == 0,
        Some([b'Z' | b'B' | b'S' | b'C' | b'I' | b'J' | b'F' | b'D']) => dimensions <= 255,
        Some([b'L', name @ .., b';']) => {
            dimensions <= 255 && !name.is_empty() && !name.iter().any(|byte| b";.[".contains(byte))
        }
        _ => false,
    }
}
