//! Annotation directories, sets and items.

use std::collections::HashMap;
use std::sync::Arc;

use super::Reader;
use super::cursor::Cursor;
use super::values::ValueReader;
use crate::{Annotation, AnnotationSet, Annotations, Malformed, ParameterSets};

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
        let mut cursor = self.aligned(at)?;
        let class = self.set(cursor.u32()?, seen)?;
        let sizes = [cursor.u32()?, cursor.u32()?, cursor.u32()?].map(|size| size as usize);
        let entries = sizes.iter().fold(0_usize, |sum, &size| sum.saturating_add(size));
        if entries > cursor.left() / 8 {
            return Err(Malformed {
                at: at as usize,
                what: "an annotation directory is longer than the file",
            });
        }
        self.budget.memory::<(u32, AnnotationSet)>(at as usize, entries)?;
        let [fields, methods, parameters] = sizes;
        let mut member = Members { previous: None, size: self.header.fields.size };
        let mut sets = Vec::with_capacity(fields);
        for _ in 0..fields {
            let index = member.next(&mut cursor)?;
            sets.push((index, self.some_set(&mut cursor, seen)?));
        }
        let fields = sets.into();
        member = Members { previous: None, size: self.header.methods.size };
        let mut sets = Vec::with_capacity(methods);
        for _ in 0..methods {
            let index = member.next(&mut cursor)?;
            sets.push((index, self.some_set(&mut cursor, seen)?));
        }
        let methods = sets.into();
        member.previous = None;
        let mut lists = Vec::with_capacity(parameters);
        for _ in 0..parameters {
            let index = member.next(&mut cursor)?;
            lists.push((index, self.set_list(cursor.u32()?, seen)?));
        }
        Ok(Annotations { class, fields, methods, parameters: lists.into() })
    }

    fn aligned(&self, at: u32) -> Result<Cursor<'_>, Malformed> {
        let cursor = Cursor::new(self.bytes, at as usize);
        if at.is_multiple_of(4) { Ok(cursor) } else { Err(cursor.error("an item is not aligned")) }
    }

    /// The `annotation_set_ref_list` at an offset.
    fn set_list(&self, at: u32, seen: &mut Seen) -> Result<ParameterSets, Malformed> {
        let mut cursor = self.aligned(at)?;
        let size = cursor.u32()? as usize;
        if size > cursor.left() / 4 {
            return Err(Malformed {
                at: at as usize,
                what: "a list of annotation sets is longer than the file",
            });
        }
        self.budget.memory::<Option<AnnotationSet>>(at as usize, size)?;
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
        if size > cursor.left() / 4 {
            return Err(Malformed { at: at as usize, what: "an annotation set is longer than the file" });
        }
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
        let mut cursor = Cursor::new(self.bytes, at as usize);
        let visibility = cursor.u8()?;
        if visibility > 2 {
            return Err(Malformed { at: at as usize, what: "an annotation has an unknown visibility" });
        }
        let mut values = ValueReader { cursor, sizes: &self.sizes, budget: self.budget };
        let item = values.annotation(Some(visibility))?;
        self.budget.item(at as usize, values.cursor.at())?;
        seen.items.insert(at, item.clone());
        Ok(item)
    }
}

/// Checks the order of members.
struct Members {
    previous: Option<u32>,
    size: u32,
}

impl Members {
    fn next(&mut self, cursor: &mut Cursor<'_>) -> Result<u32, Malformed> {
        let at = cursor.at();
        let index = cursor.u32()?;
        if index >= self.size {
            return Err(Malformed { at, what: "an annotated member is outside of its table" });
        }
        if self.previous.is_some_and(|previous| previous >= index) {
            return Err(Malformed { at, what: "the annotated members are not in order" });
        }
        self.previous = Some(index);
        Ok(index)
    }
}
