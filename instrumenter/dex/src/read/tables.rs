//! The tables of identifiers.

use std::borrow::Cow;

use super::Reader;
use super::cursor::Cursor;
use super::header::Extent;
use crate::{CallSite, Field, Handle, Malformed, Method, Proto, Table, mutf8};

impl<'a> Reader<'a, '_> {
    /// A cursor at a table, all of which is within the file.
    pub(super) fn table(
        &self,
        table: Extent,
        entry: usize,
        max: usize,
    ) -> Result<(Cursor<'a>, usize), Malformed> {
        let cursor = Cursor::new(self.bytes, table.at as usize);
        if table.size == 0 {
            return Ok((cursor, 0));
        }
        let size = table.size as usize;
        Malformed::when(size > max, cursor.at(), "a table has more entries than the format allows")?;
        Malformed::when(!table.at.is_multiple_of(4), cursor.at(), "a table is not aligned")?;
        Malformed::when(size > cursor.left() / entry, cursor.at(), "a table is longer than the file")?;
        self.budget.item(cursor.at(), cursor.at().saturating_add(size.saturating_mul(entry)))?;
        Ok((cursor, size))
    }

    /// Reads the entries of a table, which have `length` bytes each. `read` also gets the entry before it.
    fn entries<T>(
        &self,
        table: Table,
        length: usize,
        mut read: impl FnMut(&mut Cursor<'a>, Option<&T>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let (mut cursor, size) = self.table(self.header.table(table), length, table.max())?;
        let mut entries = Vec::with_capacity(size);
        for _ in 0..size {
            let entry = read(&mut cursor, entries.last())?;
            entries.push(entry);
        }
        Ok(entries)
    }

    pub(super) fn strings(&self) -> Result<Vec<Cow<'a, [u8]>>, Malformed> {
        self.entries(Table::Strings, 4, |cursor, last: Option<&Cow<'a, [u8]>>| {
            let string = self.string(cursor.u32()? as usize)?;
            if last.is_some_and(|last| mutf8::compare(last, string).is_ge()) {
                return Err(cursor.error("the strings are not in order"));
            }
            Ok(Cow::Borrowed(string))
        })
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
        self.entries(Table::Types, 4, |cursor, last| {
            let at = cursor.at();
            let string = cursor.u32()?;
            Malformed::when(last.is_some_and(|&last| last >= string), at, "the types are not in order")?;
            let descriptor = strings.get(string as usize);
            let descriptor = descriptor.ok_or(Malformed { at, what: Table::Strings.outside() })?;
            Malformed::when(!is_descriptor(descriptor), at, "a type has an invalid descriptor")?;
            Ok(string)
        })
    }

    pub(super) fn protos(&self, strings: &[Cow<'a, [u8]>], types: &[u32]) -> Result<Vec<Proto>, Malformed> {
        let short = |kind: u32| {
            let descriptor = strings.get(*types.get(kind as usize)? as usize)?;
            descriptor.first().map(|&first| if first == b'[' { b'L' } else { first })
        };
        self.entries(Table::Protos, 12, |cursor, last: Option<&Proto>| {
            let at = cursor.at();
            let (shorty, result, parameters) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
            let proto = Proto { shorty, result, parameters: self.type_list(parameters)? };
            let text = strings.get(shorty as usize);
            let text = text.ok_or(Malformed { at, what: Table::Strings.outside() })?;
            self.header.check(Table::Types, result, at)?;
            let letters = std::iter::once(&result).chain(&proto.parameters).map(|&kind| short(kind));
            if !letters.eq(text.iter().copied().map(Some))
                || proto.parameters.iter().any(|&kind| short(kind) == Some(b'V'))
            {
                return Err(Malformed { at, what: "the short form of a proto does not match its types" });
            }
            if last.is_some_and(|last| last.key() >= proto.key()) {
                return Err(Malformed { at, what: "the protos are not in order" });
            }
            Ok(proto)
        })
    }

    pub(super) fn fields(&self) -> Result<Vec<Field>, Malformed> {
        self.entries(Table::Fields, 8, |cursor, last| {
            let at = cursor.at();
            let (class, kind) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
            let field = Field { class, kind, name: cursor.u32()? };
            self.header.check(Table::Types, class, at)?;
            self.header.check(Table::Types, kind, at)?;
            self.header.check(Table::Strings, field.name, at)?;
            Malformed::when(last.is_some_and(|last| *last >= field), at, "the fields are not in order")?;
            Ok(field)
        })
    }

    pub(super) fn methods(&self) -> Result<Vec<Method>, Malformed> {
        self.entries(Table::Methods, 8, |cursor, last| {
            let at = cursor.at();
            let (class, proto) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
            let method = Method { class, proto, name: cursor.u32()? };
            self.header.check(Table::Types, class, at)?;
            self.header.check(Table::Protos, proto, at)?;
            self.header.check(Table::Strings, method.name, at)?;
            Malformed::when(last.is_some_and(|last| *last >= method), at, "the methods are not in order")?;
            Ok(method)
        })
    }

    pub(super) fn handles(&self) -> Result<Vec<Handle>, Malformed> {
        self.entries(Table::Handles, 8, |cursor, _| {
            let at = cursor.at();
            let [kind, _, target, _] = [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
            Malformed::when(kind > 8, at, "a method handle has an unknown type")?;
            let handle = Handle { kind, target: u32::from(target) };
            let (table, member) = handle.member();
            if member >= self.header.table(table).size {
                return Err(Malformed { at, what: "a method handle refers to no member" });
            }
            Ok(handle)
        })
    }

    pub(super) fn call_sites(&self) -> Result<Vec<CallSite>, Malformed> {
        self.entries(Table::CallSites, 4, |cursor, _| self.values(cursor.u32()? as usize).array(0))
    }

    /// The `type_list` at an offset; empty at 0.
    pub(super) fn type_list(&self, at: u32) -> Result<Box<[u32]>, Malformed> {
        if at == 0 {
            return Ok(Box::default());
        }
        let at = at as usize;
        Malformed::when(!at.is_multiple_of(4), at, "a type list is not aligned")?;
        let mut cursor = Cursor::new(self.bytes, at);
        let size = cursor.u32()? as usize;
        Malformed::when(size > cursor.left() / 2, at, "a type list is longer than the file")?;
        self.budget.memory::<u32>(at, size)?;
        let kind = |_| {
            let kind = u32::from(cursor.u16()?);
            self.header.check(Table::Types, kind, at).map(|()| kind)
        };
        (0..size).map(kind).collect()
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
