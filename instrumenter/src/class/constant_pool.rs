//! The constant pool, which is read by index and only appended to.
//!
//! Because new entries follow the old ones, no index in the rest of the class file changes, and everything but the
//! rewritten `Code` attributes is copied as bytes.

use std::collections::HashMap;

use super::cursor::Cursor;
use crate::error::{Malformed, SkipReason};

mod tag {
    pub(super) const UTF8: u8 = 1;
    pub(super) const INTEGER: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const LONG: u8 = 5;
    pub(super) const DOUBLE: u8 = 6;
    pub(super) const CLASS: u8 = 7;
    pub(super) const STRING: u8 = 8;
    pub(super) const FIELDREF: u8 = 9;
    pub(super) const METHODREF: u8 = 10;
    pub(super) const INTERFACE_METHODREF: u8 = 11;
    pub(super) const NAME_AND_TYPE: u8 = 12;
    pub(super) const METHOD_HANDLE: u8 = 15;
    pub(super) const METHOD_TYPE: u8 = 16;
    pub(super) const DYNAMIC: u8 = 17;
    pub(super) const INVOKE_DYNAMIC: u8 = 18;
    pub(super) const MODULE: u8 = 19;
    pub(super) const PACKAGE: u8 = 20;
}

/// The positions of the entries of a class file's pool.
pub(crate) struct ConstantPool<'a> {
    bytes: &'a [u8],
    /// The offset of each entry's tag; 0 for unused indices (index 0, and after a long or double).
    entries: Vec<u32>,
}

impl<'a> ConstantPool<'a> {
    /// Reads `constant_pool_count` and the entries; `cursor` then points after them.
    pub(crate) fn read(bytes: &'a [u8], cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let count = usize::from(cursor.u2()?);
        let mut entries = Vec::with_capacity(count);
        entries.push(0);
        while entries.len() < count {
            let offset = cursor.at();
            entries.push(u32::try_from(offset).map_err(|_| cursor.malformed("the class is over 4 GiB"))?);
            match cursor.u1()? {
                tag::UTF8 => {
                    let length = cursor.u2()?;
                    cursor.skip(usize::from(length))?;
                }
                tag::LONG | tag::DOUBLE => {
                    cursor.skip(8)?;
                    entries.push(0);
                }
                tag::INTEGER
                | tag::FLOAT
                | tag::FIELDREF
                | tag::METHODREF
                | tag::INTERFACE_METHODREF
                | tag::NAME_AND_TYPE
                | tag::DYNAMIC
                | tag::INVOKE_DYNAMIC => cursor.skip(4)?,
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => cursor.skip(2)?,
                tag::METHOD_HANDLE => cursor.skip(3)?,
                _ => return Err(Malformed { at: offset, what: "unknown constant pool tag" }),
            }
        }
        if entries.len() > count.max(1) {
            return Err(cursor.malformed("the constant pool ends inside a long or double"));
        }
        Ok(Self { bytes, entries })
    }

    /// Returns `constant_pool_count`, which is the last index plus one.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, index: u16) -> Option<(u8, &'a [u8])> {
        let offset = *self.entries.get(usize::from(index))? as usize;
        if offset == 0 {
            return None;
        }
        let (&tag, body) = self.bytes.get(offset..)?.split_first()?;
        Some((tag, body))
    }

    fn malformed(&self, index: u16, what: &'static str) -> Malformed {
        let offset = self.entries.get(usize::from(index)).copied().unwrap_or(0);
        Malformed { at: offset as usize, what }
    }

    fn utf8_at(&self, index: u16) -> Option<&'a [u8]> {
        let (tag, body) = self.entry(index)?;
        let (length, rest) = body.split_first_chunk::<2>()?;
        (tag == tag::UTF8).then(|| rest.get(..usize::from(u16::from_be_bytes(*length))))?
    }

    /// Returns the modified UTF-8 bytes at `index`.
    pub(crate) fn utf8(&self, index: u16) -> Result<&'a [u8], Malformed> {
        self.utf8_at(index).ok_or_else(|| self.malformed(index, "a Utf8 constant was expected"))
    }

    /// Returns the two indices of a member reference, name and type, or dynamic call site.
    fn pair(&self, index: u16, wanted: &[u8]) -> Option<(u16, u16)> {
        let (tag, body) = self.entry(index)?;
        let (&[a, b, c, d], _) = body.split_first_chunk::<4>()?;
        wanted.contains(&tag).then_some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// Returns the internal name of the class at `index`.
    pub(crate) fn class_name(&self, index: u16) -> Result<&'a [u8], Malformed> {
        let name = self.entry(index).filter(|&(tag, _)| tag == tag::CLASS);
        let name = name.and_then(|(_, body)| body.first_chunk::<2>());
        let name = name.and_then(|name| self.utf8_at(u16::from_be_bytes(*name)));
        name.ok_or_else(|| self.malformed(index, "a Class constant was expected"))
    }

    /// Returns name and descriptor of the field, method or dynamic call site at `index`.
    pub(crate) fn member(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        const MEMBERS: [u8; 5] =
            [tag::FIELDREF, tag::METHODREF, tag::INTERFACE_METHODREF, tag::DYNAMIC, tag::INVOKE_DYNAMIC];
        let found = self.pair(index, &MEMBERS).and_then(|(_, name_and_type)| {
            let (name, descriptor) = self.pair(name_and_type, &[tag::NAME_AND_TYPE])?;
            Some((self.utf8_at(name)?, self.utf8_at(descriptor)?))
        });
        found.ok_or_else(|| self.malformed(index, "a field or method reference was expected"))
    }

    /// Returns class, name and descriptor of the method reference at `index`.
    pub(crate) fn method(&self, index: u16) -> Result<[&'a [u8]; 3], Malformed> {
        let class = self.pair(index, &[tag::METHODREF, tag::INTERFACE_METHODREF]);
        let (class, _) = class.ok_or_else(|| self.malformed(index, "a method reference was expected"))?;
        let (name, descriptor) = self.member(index)?;
        Ok([self.class_name(class)?, name, descriptor])
    }

    /// Returns the number of the bootstrap method of the dynamic call site at `index`, and its descriptor.
    pub(crate) fn call_site(&self, index: u16) -> Option<(u16, &'a [u8])> {
        let (bootstrap, name_and_type) = self.pair(index, &[tag::INVOKE_DYNAMIC])?;
        let (_, descriptor) = self.pair(name_and_type, &[tag::NAME_AND_TYPE])?;
        Some((bootstrap, self.utf8_at(descriptor)?))
    }

    /// Returns class, name and descriptor of the method in the method handle at `index`.
    pub(crate) fn method_handle(&self, index: u16) -> Option<[&'a [u8]; 3]> {
        let (_, body) = self.entry(index).filter(|&(tag, _)| tag == tag::METHOD_HANDLE)?;
        let &[_, high, low] = body.first_chunk::<3>()?;
        self.method(u16::from_be_bytes([high, low])).ok()
    }

    /// Returns the internal name of the class in the field reference at `index`.
    pub(crate) fn field_class(&self, index: u16) -> Result<&'a [u8], Malformed> {
        let class = self.pair(index, &[tag::FIELDREF]);
        let (class, _) = class.ok_or_else(|| self.malformed(index, "a field reference was expected"))?;
        self.class_name(class)
    }

    /// Returns the type that `ldc` of the constant at `index` pushes, as a descriptor.
    pub(crate) fn constant_type(&self, index: u16) -> Result<&'a [u8], Malformed> {
        let broken = || self.malformed(index, "a constant that can be loaded was expected");
        Ok(match self.entry(index).ok_or_else(broken)?.0 {
            tag::INTEGER => b"I",
            tag::FLOAT => b"F",
            tag::LONG => b"J",
            tag::DOUBLE => b"D",
            tag::STRING => b"Ljava/lang/String;",
            tag::CLASS => b"Ljava/lang/Class;",
            tag::METHOD_TYPE => b"Ljava/lang/invoke/MethodType;",
            tag::METHOD_HANDLE => b"Ljava/lang/invoke/MethodHandle;",
            tag::DYNAMIC => self.member(index)?.1,
            _ => return Err(broken()),
        })
    }

    /// Returns whether loading the constant at `index` runs no code: it is not dynamic, and not a method handle or
    /// type.
    pub(crate) fn is_plain(&self, index: u16) -> bool {
        !matches!(self.entry(index), None | Some((tag::DYNAMIC | tag::METHOD_HANDLE | tag::METHOD_TYPE, _)))
    }

    /// Returns whether the constant at `index` is this text.
    pub(crate) fn is_text(&self, index: u16, text: &[u8]) -> bool {
        self.utf8_at(index) == Some(text)
    }

    /// Returns the lowest index of each of these texts, found in one walk over the pool.
    pub(crate) fn find_texts<const N: usize>(&self, wanted: [&[u8]; N]) -> [Option<u16>; N] {
        let mut found = [None; N];
        for index in 0..self.entries.len() as u32 {
            let index = index as u16;
            let Some(text) = self.utf8_at(index) else { continue };
            for (slot, wanted) in found.iter_mut().zip(wanted) {
                if slot.is_none() && text == wanted {
                    *slot = Some(index);
                }
            }
        }
        found
    }
}

/// New entries that follow those of an existing pool.
pub(crate) struct Appended {
    next: u32,
    bytes: Vec<u8>,
    /// The classes that [`class_named`](Self::class_named) has added.
    classes: HashMap<Box<[u8]>, u16>,
}

impl Appended {
    pub(crate) fn after(pool: &ConstantPool<'_>) -> Self {
        Self { next: pool.count().max(1) as u32, bytes: Vec::with_capacity(256), classes: HashMap::new() }
    }

    /// Returns the indices of these texts, which are appended where `pool` does not have them.
    pub(crate) fn texts<const N: usize>(
        &mut self,
        pool: &ConstantPool<'_>,
        wanted: [&[u8]; N],
    ) -> Result<[u16; N], SkipReason> {
        let mut texts = [0; N];
        for ((slot, text), found) in texts.iter_mut().zip(wanted).zip(pool.find_texts(wanted)) {
            *slot = found.map_or_else(|| self.utf8(text), Ok)?;
        }
        Ok(texts)
    }

    /// Returns `constant_pool_count` with the new entries.
    pub(crate) fn count(&self) -> u16 {
        // `take` never lets `next` pass 65,535.
        self.next as u16
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn take(&mut self, tag: u8, body: &[&[u8]]) -> Result<u16, SkipReason> {
        // The count is a u2, and the last index plus one.
        let index = u16::try_from(self.next).ok().filter(|&index| index < u16::MAX);
        let index = index.ok_or(SkipReason::ConstantPoolFull)?;
        self.next += 1;
        self.bytes.push(tag);
        body.iter().for_each(|part| self.bytes.extend_from_slice(part));
        Ok(index)
    }

    pub(crate) fn utf8(&mut self, text: &[u8]) -> Result<u16, SkipReason> {
        let length = u16::try_from(text.len()).map_err(|_| SkipReason::ConstantPoolFull)?;
        self.take(tag::UTF8, &[&length.to_be_bytes(), text])
    }

    pub(crate) fn integer(&mut self, value: u32) -> Result<u16, SkipReason> {
        self.take(tag::INTEGER, &[&value.to_be_bytes()])
    }

    /// Adds a class by its internal name, for verification types; the same name has the same index.
    pub(crate) fn class_named(&mut self, name: &[u8]) -> Result<u16, SkipReason> {
        if let Some(&index) = self.classes.get(name) {
            return Ok(index);
        }
        let text = self.utf8(name)?;
        let index = self.class(text)?;
        self.classes.insert(name.into(), index);
        Ok(index)
    }

    /// Returns the name of a class that [`class_named`](Self::class_named) added at `index`.
    pub(crate) fn class_name(&self, index: u16) -> Option<&[u8]> {
        self.classes.iter().find(|(_, added)| **added == index).map(|(name, _)| &name[..])
    }

    pub(crate) fn class(&mut self, name: u16) -> Result<u16, SkipReason> {
        self.take(tag::CLASS, &[&name.to_be_bytes()])
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16, SkipReason> {
        self.take(tag, &[&first.to_be_bytes(), &second.to_be_bytes()])
    }

    pub(crate) fn method(&mut self, class: u16, name: u16, descriptor: u16) -> Result<u16, SkipReason> {
        let name_and_type = self.pair(tag::NAME_AND_TYPE, name, descriptor)?;
        self.pair(tag::METHODREF, class, name_and_type)
    }

    pub(crate) fn field(&mut self, class: u16, name: u16, descriptor: u16) -> Result<u16, SkipReason> {
        let name_and_type = self.pair(tag::NAME_AND_TYPE, name, descriptor)?;
        self.pair(tag::FIELDREF, class, name_and_type)
    }
}
