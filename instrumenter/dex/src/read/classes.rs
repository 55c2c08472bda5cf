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
            Malformed::when(std::mem::replace(defined, true), at, "a class is defined twice")?;
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
        members(cursor, size, class, (&self.dex.fields, |field| field.class), |field, cursor| {
            Ok(ClassField { field, access: cursor.uleb()? })
        })
    }

    fn methods(
        &mut self,
        cursor: &mut Cursor<'_>,
        size: u32,
        class: u32,
    ) -> Result<Vec<ClassMethod<'a>>, Malformed> {
        members(cursor, size, class, (&self.dex.methods, |method| method.class), |method, cursor| {
            let access = cursor.uleb()?;
            let code = match cursor.uleb()? {
                0 => None,
                at => Some(MethodCode::Read(self.reader.code(at, &mut self.code)?)),
            };
            Ok(ClassMethod { method, access, code })
        })
    }
}

/// Reads `size` fields or methods of `class`, whose indices in their table ascend. `class_of` is the class of a member.
fn members<M, T>(
    cursor: &mut Cursor<'_>,
    size: u32,
    class: u32,
    (table, class_of): (&[M], impl Fn(&M) -> u32),
    mut read: impl FnMut(u32, &mut Cursor<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut members = Vec::with_capacity((size as usize).min(cursor.left() / 2).min(table.len()));
    let mut previous: Option<u32> = None;
    for _ in 0..size {
        let at = cursor.at();
        let outside = Malformed { at, what: "a member of a class is outside of its table" };
        let difference = cursor.uleb()?;
        let is_unordered = previous.is_some() && difference == 0;
        Malformed::when(is_unordered, at, "the members of a class are not in order")?;
        let index = previous.unwrap_or(0).checked_add(difference).ok_or(outside)?;
        let member = table.get(index as usize).ok_or(outside)?;
        Malformed::when(class_of(member) != class, at, "a member of a class belongs to another one")?;
        previous = Some(index);
        members.push(read(index, cursor)?);
    }
    Ok(members)
}
