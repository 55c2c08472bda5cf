//! Class definitions and class data.

use super::cursor::Cursor;
use super::{Reader, annotations, code};
use crate::model::NO_INDEX;
use crate::{Class, ClassField, ClassMethod, Dex, Malformed, MethodCode};

/// What the classes of a file share.
#[derive(Debug, Default)]
struct Seen {
    annotations: annotations::Seen,
    code: code::Seen,
}

impl<'a> Reader<'a, '_> {
    /// All classes; the tables of `dex` are already read.
    pub(super) fn classes(&self, dex: &Dex<'a>) -> Result<Vec<Class<'a>>, Malformed> {
        let (mut cursor, size) = self.table(self.header.classes, 32, self.header.types.size as usize)?;
        let mut seen = Seen::default();
        let mut defined = vec![false; dex.types.len()];
        let mut classes = Vec::with_capacity(size);
        for _ in 0..size {
            let at = cursor.at();
            let class = cursor.u32()?;
            let defined = defined.get_mut(class as usize);
            let defined = defined.ok_or(Malformed { at, what: "a type index is outside of the table" })?;
            if std::mem::replace(defined, true) {
                return Err(Malformed { at, what: "a class is defined twice" });
            }
            classes.push(self.class(class, &mut cursor, dex, &mut seen)?);
        }
        Ok(classes)
    }

    fn class(
        &self,
        class: u32,
        cursor: &mut Cursor<'_>,
        dex: &Dex<'a>,
        seen: &mut Seen,
    ) -> Result<Class<'a>, Malformed> {
        let at = cursor.at();
        let access = cursor.u32()?;
        let super_class = Some(cursor.u32()?).filter(|&index| index != NO_INDEX);
        super_class.map_or(Ok(()), |index| self.check_type(index, at))?;
        let interfaces = self.type_list(cursor.u32()?)?;
        let source_file = Some(cursor.u32()?).filter(|&index| index != NO_INDEX);
        source_file.map_or(Ok(()), |index| self.check_string(index, at))?;
        let annotations = self.annotations(cursor.u32()?, &mut seen.annotations)?;
        let (data, values) = (cursor.u32()?, cursor.u32()?);
        let mut class = Class {
            class,
            access,
            super_class,
            interfaces,
            source_file,
            annotations,
            static_values: if values == 0 { Box::default() } else { self.encoded_array(values as usize)? },
            ..Class::default()
        };
        if data != 0 {
            self.class_data(&mut class, data as usize, dex, &mut seen.code)?;
        }
        Ok(class)
    }

    fn class_data(
        &self,
        class: &mut Class<'a>,
        at: usize,
        dex: &Dex<'a>,
        seen: &mut code::Seen,
    ) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(self.bytes, at);
        let [statics, instances, direct, virtuals] =
            [cursor.uleb()?, cursor.uleb()?, cursor.uleb()?, cursor.uleb()?];
        class.static_fields = self.class_fields(&mut cursor, statics, class.class, dex)?;
        class.instance_fields = self.class_fields(&mut cursor, instances, class.class, dex)?;
        class.direct_methods = self.class_methods(&mut cursor, direct, class.class, dex, seen)?;
        class.virtual_methods = self.class_methods(&mut cursor, virtuals, class.class, dex, seen)?;
        self.budget.memory::<u8>(at, cursor.at() - at)
    }

    fn class_fields(
        &self,
        cursor: &mut Cursor<'_>,
        size: u32,
        class: u32,
        dex: &Dex<'a>,
    ) -> Result<Vec<ClassField>, Malformed> {
        let mut fields = Vec::with_capacity((size as usize).min(cursor.left() / 2).min(dex.fields.len()));
        let mut members = Members { class, previous: None };
        for _ in 0..size {
            let field = members.next(cursor, |index| dex.fields.get(index).map(|field| field.class))?;
            fields.push(ClassField { field, access: cursor.uleb()? });
        }
        Ok(fields)
    }

    fn class_methods(
        &self,
        cursor: &mut Cursor<'_>,
        size: u32,
        class: u32,
        dex: &Dex<'a>,
        seen: &mut code::Seen,
    ) -> Result<Vec<ClassMethod<'a>>, Malformed> {
        let mut methods = Vec::with_capacity((size as usize).min(cursor.left() / 3).min(dex.methods.len()));
        let mut members = Members { class, previous: None };
        for _ in 0..size {
            let method = members.next(cursor, |index| dex.methods.get(index).map(|method| method.class))?;
            let access = cursor.uleb()?;
            let code = match cursor.uleb()? {
                0 => None,
                at => Some(MethodCode::Read(self.code(at, seen)?)),
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
