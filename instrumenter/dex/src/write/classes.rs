//! Class data, static values and the order of classes.

use std::collections::HashMap;

use super::values;
use crate::leb128::put_uleb;
use crate::{Class, Dex, Remap, Table, Value, WriteError};

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
    sizes.iter().for_each(|&size| put_uleb(size as u32, to));
    for fields in [&class.static_fields, &class.instance_fields] {
        let fields = fields.iter().map(|field| (field.field, (field.access, None)));
        members(remap.sorted(Table::Fields, fields)?, to);
    }
    for methods in [&class.direct_methods, &class.virtual_methods] {
        let methods = methods.iter().zip(&mut *code);
        let methods = methods.map(|(method, code)| (method.method, (method.access, Some(code))));
        members(remap.sorted(Table::Methods, methods)?, to);
    }
    Ok(true)
}

/// Appends members by new index, each with its access flags and, for a method, the offset of its code.
fn members(members: Vec<(u32, (u32, Option<u32>))>, to: &mut Vec<u8>) {
    let mut previous = 0;
    for (index, (access, code)) in members {
        put_uleb(index - previous, to);
        put_uleb(access, to);
        code.into_iter().for_each(|code| put_uleb(code, to));
        previous = index;
    }
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
    let new = class.static_fields.iter().map(|field| remap.get(Table::Fields, field.field));
    if new.collect::<Result<Vec<u32>, _>>()?.is_sorted() {
        values::array(&class.static_values, remap, to)?;
        return Ok(true);
    }
    let values = class.static_values.iter().map(Some).chain(std::iter::repeat(None));
    let fields = class.static_fields.iter().map(|field| field.field).zip(values);
    let mut moved = remap.sorted(Table::Fields, fields.map(|(field, value)| (field, (field, value))))?;
    let last = moved.iter().rposition(|(_, (_, value))| value.is_some());
    moved.truncate(last.map_or(0, |last| last + 1));
    let value = |(_, (field, value)): (u32, (u32, Option<&Value>))| {
        value.cloned().unwrap_or_else(|| default(dex, field))
    };
    let moved: Vec<Value> = moved.into_iter().map(value).collect();
    values::array(&moved, remap, to)?;
    Ok(true)
}

/// The value of a static field that has none.
fn default(dex: &Dex<'_>, field: u32) -> Value {
    let descriptor = dex.fields.get(field as usize).and_then(|field| dex.descriptor(field.kind));
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
