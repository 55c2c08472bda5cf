//! Annotation items, sets, lists of sets and directories.
//!
//! ```text
//!   class_def -> directory -> set, list -> set -> item
//! ```
//!
//! Each kind is a section, and refers to those that are written before it.

use std::collections::HashMap;

use super::file::File;
use super::output::Output;
use super::pool::Pool;
use super::values;
use crate::{Annotation, AnnotationSet, Annotations, Class, Remap, WriteError};

/// Writes the four sections, and returns the offset of each class's directory, 0 where it has none.
pub(super) fn write(classes: &[&Class<'_>], remap: &Remap, file: &mut File) -> Result<Vec<u32>, WriteError> {
    let mut items = Items::default();
    for class in classes {
        sets_of(&class.annotations).try_for_each(|set| items.add(set, remap))?;
    }
    let item_section = file.append(0x2004, 1, &items.pool);

    let mut sets = Sets::default();
    for class in classes {
        sets_of(&class.annotations).for_each(|set| sets.add(set, &items, item_section));
    }
    let set_section = file.append(0x1003, 4, &sets.pool);
    let set_at = |set: &AnnotationSet| set_section + sets.offset(set);

    let mut lists = Pool::new(4);
    let mut list_offsets = Vec::new();
    let mut list = Vec::new();
    for (_, parameters) in classes.iter().flat_map(|class| &class.annotations.parameters) {
        list.clear();
        list.u32(parameters.len() as u32);
        parameters.iter().for_each(|set| list.u32(set.as_ref().map_or(0, set_at)));
        list_offsets.push(lists.add(&list) as u32);
    }
    let list_section = file.append(0x1002, 4, &lists);

    let mut directories = Pool::new(4);
    let mut directory_offsets = Vec::with_capacity(classes.len());
    let mut list_offsets = list_offsets.into_iter().map(|offset| list_section + offset);
    for class in classes {
        let annotations = &class.annotations;
        if *annotations == Annotations::default() {
            directory_offsets.push(None);
            continue;
        }
        list.clear();
        list.u32(annotations.class.as_ref().map_or(0, set_at));
        for size in [annotations.fields.len(), annotations.methods.len(), annotations.parameters.len()] {
            list.u32(size as u32);
        }
        let fields = annotations.fields.iter().map(|(field, set)| Ok((remap.field(*field)?, set_at(set))));
        members(fields, &mut list)?;
        let methods =
            annotations.methods.iter().map(|(method, set)| Ok((remap.method(*method)?, set_at(set))));
        members(methods, &mut list)?;
        let parameters = annotations.parameters.iter().zip(&mut list_offsets);
        members(parameters.map(|((method, _), at)| Ok((remap.method(*method)?, at))), &mut list)?;
        directory_offsets.push(Some(directories.add(&list) as u32));
    }
    let section = file.append(0x2006, 4, &directories);
    Ok(directory_offsets.into_iter().map(|offset| offset.map_or(0, |offset| section + offset)).collect())
}

/// Every set of a directory.
fn sets_of(annotations: &Annotations) -> impl Iterator<Item = &AnnotationSet> {
    let members = annotations.fields.iter().chain(&annotations.methods).map(|(_, set)| set);
    let parameters = annotations.parameters.iter().flat_map(|(_, sets)| sets).flatten();
    annotations.class.iter().chain(members).chain(parameters)
}

/// Appends members and offsets, by member.
fn members(
    entries: impl Iterator<Item = Result<(u32, u32), WriteError>>,
    to: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(|&(member, _)| member);
    for (member, at) in entries {
        to.u32(member);
        to.u32(at);
    }
    Ok(())
}

/// Where a set or the elements of an annotation are in memory. As long as the classes are borrowed, no two have the same place, except
/// for empty ones, which are equal anyway.
type Place = (usize, usize);

fn place<T>(items: &[T]) -> Place {
    (items.as_ptr().addr(), items.len())
}

/// The section of `annotation_item`s.
struct Items {
    pool: Pool,
    /// The offsets of a set's items, by type.
    sets: HashMap<Place, Box<[u32]>>,
    item: Vec<u8>,
}

impl Default for Items {
    fn default() -> Self {
        Self { pool: Pool::new(1), sets: HashMap::new(), item: Vec::new() }
    }
}

impl Items {
    fn add(&mut self, set: &AnnotationSet, remap: &Remap) -> Result<(), WriteError> {
        if self.sets.contains_key(&place(set)) {
            return Ok(());
        }
        let mut offsets = Vec::with_capacity(set.len());
        for annotation in set.iter() {
            offsets.push((remap.kind(annotation.kind)?, self.item(annotation, remap)?));
        }
        offsets.sort_by_key(|&(kind, _)| kind);
        self.sets.insert(place(set), offsets.into_iter().map(|(_, offset)| offset).collect());
        Ok(())
    }

    fn item(&mut self, annotation: &Annotation, remap: &Remap) -> Result<u32, WriteError> {
        self.item.clear();
        // VISIBILITY_RUNTIME, unless the annotation says something else.
        self.item.push(annotation.visibility.unwrap_or(1));
        values::annotation(annotation, remap, &mut self.item)?;
        Ok(self.pool.add(&self.item) as u32)
    }
}

/// The section of `annotation_set_item`s.
struct Sets {
    pool: Pool,
    offsets: HashMap<Place, u32>,
    set: Vec<u8>,
}

impl Default for Sets {
    fn default() -> Self {
        Self { pool: Pool::new(4), offsets: HashMap::new(), set: Vec::new() }
    }
}

impl Sets {
    fn add(&mut self, set: &AnnotationSet, items: &Items, item_section: u32) {
        if self.offsets.contains_key(&place(set)) {
            return;
        }
        let offsets = items.sets.get(&place(set)).map_or(&[][..], |offsets| offsets);
        self.set.clear();
        self.set.u32(offsets.len() as u32);
        offsets.iter().for_each(|offset| self.set.u32(item_section + offset));
        let offset = self.pool.add(&self.set) as u32;
        self.offsets.insert(place(set), offset);
    }

    /// The offset of a set that was added.
    fn offset(&self, set: &AnnotationSet) -> u32 {
        self.offsets.get(&place(set)).copied().unwrap_or(0)
    }
}
