//! Annotation directories, sets and items.

use std::collections::HashMap;
use std::sync::Arc;

use super::Reader;
use super::cursor::Cursor;
use crate::{Annotation, AnnotationSet, Annotations, Malformed, ParameterSets, Table};

/// Sets and items that were read, by offset: many things share them.
#[derive(Debug, Default)]
pub(super) struct Seen {
    sets: HashMap<u32, AnnotationSet>,
    items: HashMap<u32, Annotation>,
}

impl Reader<'_, '_> {
    /// The `annotations_directory_item` at an offset; empty at 0.
    pub(super) fn annotations(&self, at: u32, seen: &mut Seen) -> Result<Annotations, Malformed> {
        if at == 0 {
            return Ok(Annotations::default());
        }
        let start = self.aligned(at)?;
        let mut cursor = start;
        let class = self.set(cursor.u32()?, seen)?;
        let sizes = [cursor.u32()?, cursor.u32()?, cursor.u32()?].map(|size| size as usize);
        let entries = sizes.iter().fold(0_usize, |sum, &size| sum.saturating_add(size));
        if entries > cursor.left() / 8 {
            return Err(start.error("an annotation directory is longer than the file"));
        }
        self.budget.memory::<(u32, AnnotationSet)>(start.at(), entries)?;
        let [fields, methods, parameters] = sizes;
        let mut some_set = |cursor: &mut Cursor<'_>| self.some_set(cursor, seen);
        let fields = self.members(Table::Fields, fields, &mut cursor, &mut some_set)?;
        let methods = self.members(Table::Methods, methods, &mut cursor, &mut some_set)?;
        let set_list = |cursor: &mut Cursor<'_>| self.set_list(cursor.u32()?, seen);
        let parameters = self.members(Table::Methods, parameters, &mut cursor, set_list)?;
        Ok(Annotations { class, fields, methods, parameters })
    }

    /// Reads `count` members of a table, which are in order, each with what `read` reads behind it.
    fn members<T>(
        &self,
        table: Table,
        count: usize,
        cursor: &mut Cursor<'_>,
        mut read: impl FnMut(&mut Cursor<'_>) -> Result<T, Malformed>,
    ) -> Result<Box<[(u32, T)]>, Malformed> {
        let mut members: Vec<(u32, T)> = Vec::with_capacity(count);
        for _ in 0..count {
            let at = cursor.at();
            let index = cursor.u32()?;
            if index >= self.header.table(table).size {
                return Err(Malformed { at, what: "an annotated member is outside of its table" });
            }
            if members.last().is_some_and(|&(previous, _)| previous >= index) {
                return Err(Malformed { at, what: "the annotated members are not in order" });
            }
            members.push((index, read(cursor)?));
        }
        Ok(members.into())
    }

    fn aligned(&self, at: u32) -> Result<Cursor<'_>, Malformed> {
        let cursor = Cursor::new(self.bytes, at as usize);
        if at.is_multiple_of(4) { Ok(cursor) } else { Err(cursor.error("an item is not aligned")) }
    }

    /// The `annotation_set_ref_list` at an offset.
    fn set_list(&self, at: u32, seen: &mut Seen) -> Result<ParameterSets, Malformed> {
        let start = self.aligned(at)?;
        let mut cursor = start;
        let size = cursor.u32()? as usize;
        if size > cursor.left() / 4 {
            return Err(start.error("a list of annotation sets is longer than the file"));
        }
        self.budget.memory::<Option<AnnotationSet>>(start.at(), size)?;
        (0..size).map(|_| self.set(cursor.u32()?, seen)).collect()
    }

    fn some_set(&self, cursor: &mut Cursor<'_>, seen: &mut Seen) -> Result<AnnotationSet, Malformed> {
        let at = cursor.at();
        let set = self.set(cursor.u32()?, seen)?;
        set.ok_or(Malformed { at, what: "an annotation directory has no set for a member" })
    }

    /// The `annotation_set_item` at an offset; none at 0.
    fn set(&self, at: u32, seen: &mut Seen) -> Result<Option<AnnotationSet>, Malformed> {
        if at == 0 {
            return Ok(None);
        }
        if let Some(set) = seen.sets.get(&at) {
            return Ok(Some(Arc::clone(set)));
        }
        let mut cursor = self.aligned(at)?;
        let size = cursor.u32()? as usize;
        Malformed::when(size > cursor.left() / 4, at as usize, "an annotation set is longer than the file")?;
        self.budget.item(at as usize, cursor.at().saturating_add(size.saturating_mul(4)))?;
        let mut items: Vec<Annotation> = Vec::with_capacity(size);
        for _ in 0..size {
            let item = self.item(cursor.u32()?, seen)?;
            if items.last().is_some_and(|last| last.kind >= item.kind) {
                return Err(Malformed { at: at as usize, what: "the annotations of a set are not in order" });
            }
            items.push(item);
        }
        let set: AnnotationSet = items.into();
        seen.sets.insert(at, Arc::clone(&set));
        Ok(Some(set))
    }

    /// The `annotation_item` at an offset.
    fn item(&self, at: u32, seen: &mut Seen) -> Result<Annotation, Malformed> {
        if let Some(item) = seen.items.get(&at) {
            self.budget.memory::<Annotation>(at as usize, 1)?;
            return Ok(item.clone());
        }
        let mut values = self.values(at as usize);
        let visibility = values.cursor.u8()?;
        Malformed::when(visibility > 2, at as usize, "an annotation has an unknown visibility")?;
        let item = values.annotation(Some(visibility), 0)?;
        self.budget.item(at as usize, values.cursor.at())?;
        seen.items.insert(at, item.clone());
        Ok(item)
    }
}
