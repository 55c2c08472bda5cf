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
use super::values;
use crate::{AnnotationSet, Annotations, Class, Remap, Table, WriteError};

/// Writes the four sections, and returns the offset of each class's directory, 0 where it has none.
pub(super) fn write(classes: &[&Class<'_>], remap: &Remap, file: &mut File) -> Result<Vec<u32>, WriteError> {
    let all_sets = || classes.iter().flat_map(|class| sets_of(&class.annotations));
    let items = write_items(all_sets(), remap, file)?;

    let mut pool = file.pool(4);
    let mut sets: HashMap<Place, u32> = HashMap::new();
    for set in all_sets() {
        let items = items.get(&place(set)).map_or(&[][..], |items| items);
        sets.entry(place(set)).or_insert_with(|| pool.add_list(items));
    }
    file.append(0x1003, &pool);
    let set_at = |set: &AnnotationSet| sets.get(&place(set)).copied().unwrap_or(0);

    let mut pool = file.pool(4);
    let mut lists = Vec::new();
    for (_, parameters) in classes.iter().flat_map(|class| &class.annotations.parameters) {
        let list: Vec<u32> = parameters.iter().map(|set| set.as_ref().map_or(0, set_at)).collect();
        lists.push(pool.add_list(&list));
    }
    file.append(0x1002, &pool);

    let mut pool = file.pool(4);
    let mut lists = lists.into_iter();
    let directories = classes.iter().map(|class| match &class.annotations {
        none if *none == Annotations::default() => Ok(0),
        annotations => Ok(pool.add(&directory(annotations, &set_at, &mut lists, remap)?)),
    });
    let directories = directories.collect::<Result<Vec<_>, WriteError>>()?;
    file.append(0x2006, &pool);
    Ok(directories)
}

/// Writes the section of `annotation_item`s, and returns the offsets of each set's items, by type.
fn write_items<'s>(
    sets: impl Iterator<Item = &'s AnnotationSet>,
    remap: &Remap,
    file: &mut File,
) -> Result<HashMap<Place, Vec<u32>>, WriteError> {
    let mut pool = file.pool(1);
    let mut items = HashMap::new();
    let mut item = Vec::new();
    for set in sets {
        if items.contains_key(&place(set)) {
            continue;
        }
        let mut offsets = Vec::with_capacity(set.len());
        for annotation in set.iter() {
            item.clear();
            // VISIBILITY_RUNTIME, unless the annotation says something else.
            item.push(annotation.visibility.unwrap_or(1));
            values::annotation(annotation, remap, &mut item)?;
            offsets.push((annotation.kind, pool.add(&item)));
        }
        let offsets = remap.sorted(Table::Types, offsets)?;
        items.insert(place(set), offsets.into_iter().map(|(_, offset)| offset).collect());
    }
    file.append(0x2004, &pool);
    Ok(items)
}

/// Returns the directory of a class. `set_at` gives the offset of a set, and `lists` the offsets of the lists of sets.
fn directory(
    annotations: &Annotations,
    set_at: &dyn Fn(&AnnotationSet) -> u32,
    lists: &mut impl Iterator<Item = u32>,
    remap: &Remap,
) -> Result<Vec<u8>, WriteError> {
    let Annotations { class, fields, methods, parameters } = annotations;
    let mut item = Vec::new();
    item.u32(class.as_ref().map_or(0, set_at));
    [fields.len(), methods.len(), parameters.len()].into_iter().for_each(|size| item.u32(size as u32));
    let of_member = |(member, set): &(u32, AnnotationSet)| (*member, set_at(set));
    let fields = remap.sorted(Table::Fields, fields.iter().map(of_member))?;
    let methods = remap.sorted(Table::Methods, methods.iter().map(of_member))?;
    let parameters = parameters.iter().map(|(method, _)| *method).zip(lists);
    let parameters = remap.sorted(Table::Methods, parameters)?;
    for (member, at) in fields.into_iter().chain(methods).chain(parameters) {
        item.u32(member);
        item.u32(at);
    }
    Ok(item)
}

/// Every set of a directory.
fn sets_of(annotations: &Annotations) -> impl Iterator<Item = &AnnotationSet> {
    let members = annotations.fields.iter().chain(&annotations.methods).map(|(_, set)| set);
    let parameters = annotations.parameters.iter().flat_map(|(_, sets)| sets).flatten();
    annotations.class.iter().chain(members).chain(parameters)
}

/// The place of a set in memory. As long as the classes are borrowed, no two have the same place, except for empty ones, which
/// are equal anyway.
type Place = (usize, usize);

fn place<T>(items: &[T]) -> Place {
    (items.as_ptr().addr(), items.len())
}
