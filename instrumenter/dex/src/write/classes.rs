//! Class data, static values and the order of classes.

use std::collections::HashMap;

use super::output::Output;
use super::values;
use crate::{Class, ClassField, ClassMethod, Dex, Remap, Value, WriteError};

/// The classes with super classes and interfaces before the classes that use them, and otherwise in their order.
///
/// ART has checked this since version 037. In files of version 035 a class can extend itself by others: those keep their order.
pub(super) fn ordered<'d, 'a>(dex: &'d Dex<'a>) -> Vec<&'d Class<'a>> {
    places(dex).into_iter().filter_map(|place| dex.classes.get(place)).collect()
}

/// The places of the classes in [`Dex::classes`], in the order of [`ordered`].
pub(crate) fn places(dex: &Dex<'_>) -> Vec<usize> {
    let places: HashMap<u32, usize> =
        dex.classes.iter().zip(0..).map(|(class, place)| (class.class, place)).collect();
    let above = |place: usize| {
        let types = dex.classes.get(place).into_iter();
        let types = types.flat_map(|class| class.super_class.iter().chain(&class.interfaces));
        types.filter_map(|kind| places.get(kind).copied())
    };
    let mut visited = vec![false; dex.classes.len()];
    let mut order = Vec::with_capacity(dex.classes.len());
    // Classes, each with those above it that are still to be visited. A recursion could be too deep.
    let mut stack = Vec::new();
    for place in 0..dex.classes.len() {
        let mut next = Some(place);
        loop {
            if let Some(place) = next
                && let Some(visited) = visited.get_mut(place).filter(|visited| !**visited)
            {
                *visited = true;
                stack.push((place, above(place)));
            }
            let Some((place, rest)) = stack.last_mut() else { break };
            next = rest.next();
            if next.is_none() {
                order.push(*place);
                stack.pop();
            }
        }
    }
    order
}

/// Appends the `class_data_item` of a class; `code` gives the offset of each method's code. Returns whether there is any.
pub(super) fn data(
    class: &Class<'_>,
    code: &mut impl Iterator<Item = u32>,
    remap: &Remap,
    to: &mut Vec<u8>,
) -> Result<bool, WriteError> {
    let sizes = [
        class.static_fields.len(),
        class.instance_fields.len(),
        class.direct_methods.len(),
        class.virtual_methods.len(),
    ];
    if sizes == [0; 4] {
        return Ok(false);
    }
    sizes.iter().for_each(|&size| to.uleb(size as u32));
    fields(&class.static_fields, remap, to)?;
    fields(&class.instance_fields, remap, to)?;
    methods(&class.direct_methods, code, remap, to)?;
    methods(&class.virtual_methods, code, remap, to)?;
    Ok(true)
}

fn fields(fields: &[ClassField], remap: &Remap, to: &mut Vec<u8>) -> Result<(), WriteError> {
    let new = fields.iter().map(|field| Ok((remap.field(field.field)?, field.access)));
    let mut new = new.collect::<Result<Vec<_>, WriteError>>()?;
    new.sort_by_key(|&(index, _)| index);
    let mut previous = 0;
    for (index, access) in new {
        to.uleb(index - previous);
        to.uleb(access);
        previous = index;
    }
    Ok(())
}

fn methods(
    methods: &[ClassMethod<'_>],
    code: &mut impl Iterator<Item = u32>,
    remap: &Remap,
    to: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let new = methods
        .iter()
        .zip(code)
        .map(|(method, code)| Ok((remap.method(method.method)?, method.access, code)));
    let mut new = new.collect::<Result<Vec<_>, WriteError>>()?;
    new.sort_by_key(|&(index, _, _)| index);
    let mut previous = 0;
    for (index, access, code) in new {
        to.uleb(index - previous);
        to.uleb(access);
        to.uleb(code);
        previous = index;
    }
    Ok(())
}

/// Appends the `encoded_array` of a class's static values. Returns whether there is any.
///
/// Values belong to fields by their order, so that they move with the fields.
pub(super) fn static_values(
    dex: &Dex<'_>,
    class: &Class<'_>,
    remap: &Remap,
    to: &mut Vec<u8>,
) -> Result<bool, WriteError> {
    if class.static_values.is_empty() {
        return Ok(false);
    }
    let new = class.static_fields.iter().map(|field| remap.field(field.field));
    let new = new.collect::<Result<Vec<u32>, _>>()?;
    if new.is_sorted() {
        values::array(&class.static_values, remap, to)?;
        return Ok(true);
    }
    let mut moved: Vec<(u32, u32, Option<&Value>)> = Vec::with_capacity(new.len());
    for (place, (&new, field)) in new.iter().zip(&class.static_fields).enumerate() {
        moved.push((new, field.field, class.static_values.get(place)));
    }
    moved.sort_by_key(|&(new, ..)| new);
    let last = moved.iter().rposition(|(.., value)| value.is_some());
    moved.truncate(last.map_or(0, |last| last + 1));
    let value =
        |(_, field, value): (u32, u32, Option<&Value>)| value.cloned().unwrap_or_else(|| default(dex, field));
    let moved: Vec<Value> = moved.into_iter().map(value).collect();
    values::array(&moved, remap, to)?;
    Ok(true)
}

/// The value of a static field that has none.
fn default(dex: &Dex<'_>, field: u32) -> Value {
    let kind = dex.fields.get(field as usize).and_then(|field| dex.types.get(field.kind as usize));
    let descriptor = kind.and_then(|&string| dex.strings.get(string as usize));
    match descriptor.and_then(|descriptor| descriptor.first()) {
        Some(b'Z') => Value::Boolean(false),
        Some(b'B') => Value::Byte(0),
        Some(b'S') => Value::Short(0),
        Some(b'C') => Value::Char(0),
        Some(b'I') => Value::Int(0),
        Some(b'J') => Value::Long(0),
        Some(b'F') => Value::Float(0),
        Some(b'D') => Value::Double(0),
        _ => Value::Null,
    }
}
