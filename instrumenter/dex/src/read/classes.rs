//! Class definitions and class data.

use super::cursor::Cursor;
use super::{Reader, annotations, code};
use crate::model::NO_INDEX;
use crate::{Class, ClassField, ClassMethod, Dex, Malformed, MethodCode, Table};

impl<'a> Reader<'a, '_> {
    /// All classes; the tables of `dex` are already read.
    pub(super) fn classes(&self, dex: &Dex<'a>) -> Result<Vec<Class<'a>>, Malformed> {
        let (mut cursor, size) = self.table(self.header.classes, 32, dex.types.len())?;
        let (annotations, code) = (annotations::Seen::default(), code::Seen::default());
        let mut reader = ClassReader { reader: self, dex, annotations, code };
        let mut defined = vec![false; dex.types.len()];
        let mut classes = Vec::with_capacity(size);
        for _ in 0..size {
            let at = cursor.at();
            let class = cursor.u32()?;
            let defined = defined.get_mut(class as usize);
            let defined = defined.ok_or(Malformed { at, what: Table::Types.outside() })?;
            if std::mem::replace(defined, true) {
                return Err(Malformed { at, what: "a class is defined twice" });
            }
            classes.push(reader.class(class, &mut cursor)?);
        }
        Ok(classes)
    }
}

/// Reads classes, with what they share.
struct ClassReader<'r, 'a, 'b> {
    reader: &'r Reader<'a, 'b>,
    dex: &'r Dex<'a>,
    annotations: annotations::Seen,
    code: code::Seen,
}

impl<'a> ClassReader<'_, 'a, '_> {
    fn class(&mut self, class: u32, cursor: &mut Cursor<'_>) -> Result<Class<'a>, Malformed> {
        let (at, header) = (cursor.at(), &self.reader.header);
        let access = cursor.u32()?;
        let super_class = Some(cursor.u32()?).filter(|&index| index != NO_INDEX);
        super_class.map_or(Ok(()), |index| header.check(Table::Types, index, at))?;
        let interfaces = self.reader.type_list(cursor.u32()?)?;
        let source_file = Some(cursor.u32()?).filter(|&index| index != NO_INDEX);
        source_file.map_or(Ok(()), |index| header.check(Table::Strings, index, at))?;
        let annotations = self.reader.annotations(cursor.u32()?, &mut self.annotations)?;
        let (data, values) = (cursor.u32()?, cursor.u32()? as usize);
        let static_values = if values == 0 { Box::default() } else { self.reader.values(values).array(0)? };
        let mut class = Class {
            class,
            access,
            super_class,
            interfaces,
            source_file,
            annotations,
            static_values,
            ..Class::default()
        };
        if data != 0 {
            self.class_data(&mut class, data as usize)?;
        }
        Ok(class)
    }

    fn class_data(&mut self, class: &mut Class<'a>, at: usize) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(self.reader.bytes, at);
        let [statics, instances, direct, virtuals] =
            [cursor.uleb()?, cursor.uleb()?, cursor.uleb()?, cursor.uleb()?];
        class.static_fields = self.fields(&mut cursor, statics, class.class)?;
        class.instance_fields = self.fields(&mut cursor, instances, class.class)?;
        class.direct_methods = self.methods(&mut cursor, direct, class.class)?;
        class.virtual_methods = self.methods(&mut cursor, virtuals, class.class)?;
        self.reader.budget.memory::<u8>(at, cursor.at() - at)
    }

    fn fields(&self, cursor: &mut Cursor<'_>, size: u32, class: u32) -> Result<Vec<ClassField>, Malformed> {
        let table = &self.dex.fields;
        let mut fields = Vec::with_capacity((size as usize).min(cursor.left() / 2).min(table.len()));
        let mut members = Members { class, previous: None };
        for _ in 0..size {
            let field = members.next(cursor, |index| table.get(index).map(|field| field.class))?;
            fields.push(ClassField { field, access: cursor.uleb()? });
        }
        Ok(fields)
    }

    fn methods(
        &mut self,
        cursor: &mut Cursor<'_>,
        size: u32,
        class: u32,
    ) -> Result<Vec<ClassMethod<'a>>, Malformed> {
        let table = &self.dex.methods;
        let mut methods = Vec::with_capacity((size as usize).min(cursor.left() / 3).min(table.len()));
        let mut members = Members { class, previous: None };
        for _ in 0..size {
            let method = members.next(cursor, |index| table.get(index).map(|method| method.class))?;
            let access = cursor.uleb()?;
            let code = match cursor.uleb()? {
                0 => None,
                at => Some(MethodCode::Read(self.reader.code(at, &mut self.code)?)),
            };
            methods.push(ClassMethod { method, access, code });
        }
        Ok(methods)
    }
}

/// Reads the indices of members, which are differences.
struct Members {
    class: u32,
    previous: Option<u32>,
}

impl Members {
    fn next(
        &mut self,
        cursor: &mut Cursor<'_>,
        class_of: impl Fn(usize) -> Option<u32>,
    ) -> Result<u32, Malformed> {
        let at = cursor.at();
        let difference = cursor.uleb()?;
        let index = match self.previous {
            None => Some(difference),
            Some(_) if difference == 0 => {
                return Err(Malformed { at, what: "the members of a class are not in order" });
            }
            Some(previous) => previous.checked_add(difference),
        };
        let class = index.and_then(|index| class_of(index as usize));
        let class = class.ok_or(Malformed { at, what: "a member of a class is outside of its table" })?;
        if class != self.class {
            return Err(Malformed { at, what: "a member of a class belongs to another one" });
        }
        self.previous = index;
        index.ok_or(Malformed { at, what: "a member of a class is outside of its table" })
    }
}
