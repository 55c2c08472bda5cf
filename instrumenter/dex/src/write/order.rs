//! The order of the tables.

use std::cmp::Ordering;

use crate::uses::{MAX_MEMBERS, MAX_TYPES, Table, Used};
use crate::{Dex, Field, Limit, Method, Proto, Remap, WriteError, mutf8};

/// The tables in the order of the format, and the new indices.
pub(super) struct Order {
    pub(super) remap: Remap,
    /// Old indices of the strings, in their new order.
    pub(super) strings: Vec<u32>,
    /// New string indices.
    pub(super) types: Vec<u32>,
    /// With new indices.
    pub(super) protos: Vec<Proto>,
    /// With new indices.
    pub(super) fields: Vec<Field>,
    /// With new indices.
    pub(super) methods: Vec<Method>,
    /// Old indices.
    pub(super) call_sites: Vec<u32>,
    /// Old indices.
    pub(super) handles: Vec<u32>,
}

impl Order {
    /// Sorts every table of `dex`, or what is used of it. Entries that are equal become one.
    pub(super) fn of(dex: &Dex<'_>, used: Option<&Used>) -> Result<Self, WriteError> {
        let mut remap = Remap::default();
        let used = |table: Table, size: usize| -> Vec<u32> {
            let all = (0..).take(size);
            all.filter(|&index| used.is_none_or(|used| used.contains(table, index))).collect()
        };

        let text = |&index: &u32| dex.string(index).unwrap_or_default();
        let mut strings = used(Table::Strings, dex.strings.len());
        // What was read is in order, so that this is one pass over most files.
        strings.sort_by(|left, right| mutf8::compare(text(left), text(right)));
        remap.strings = new_indices(dex.strings.len(), &mut strings, |left, right| text(left) == text(right));

        let order = used(Table::Types, dex.types.len());
        let new = |&string: &u32| remap.string(string);
        let types = Sorted::new(&dex.types, order, new, |left, right| left.cmp(right))?;
        remap.types = types.indices;
        limit("types", types.entries.len(), MAX_TYPES)?;

        let order = used(Table::Protos, dex.protos.len());
        let new = |proto: &Proto| {
            let parameters =
                proto.parameters.iter().map(|&kind| remap.kind(kind)).collect::<Result<_, _>>()?;
            Ok(Proto { shorty: remap.string(proto.shorty)?, result: remap.kind(proto.result)?, parameters })
        };
        let protos = Sorted::new(&dex.protos, order, new, |left, right| {
            (left.result, &left.parameters).cmp(&(right.result, &right.parameters))
        })?;
        remap.protos = protos.indices;
        limit("protos", protos.entries.len(), MAX_TYPES)?;

        let order = used(Table::Fields, dex.fields.len());
        let new = |field: &Field| {
            let (class, kind) = (remap.kind(field.class)?, remap.kind(field.kind)?);
            Ok(Field { class, kind, name: remap.string(field.name)? })
        };
        let key = |field: &Field| (field.class, field.name, field.kind);
        let fields = Sorted::new(&dex.fields, order, new, |left, right| key(left).cmp(&key(right)))?;
        remap.fields = fields.indices;
        limit("fields", fields.entries.len(), MAX_MEMBERS)?;

        let order = used(Table::Methods, dex.methods.len());
        let new = |method: &Method| {
            let (class, proto) = (remap.kind(method.class)?, remap.proto(method.proto)?);
            Ok(Method { class, proto, name: remap.string(method.name)? })
        };
        let key = |method: &Method| (method.class, method.name, method.proto);
        let methods = Sorted::new(&dex.methods, order, new, |left, right| key(left).cmp(&key(right)))?;
        remap.methods = methods.indices;
        limit("methods", methods.entries.len(), MAX_MEMBERS)?;

        // These two have no order that ART checks, and equal call sites are linked apart.
        let mut call_sites = used(Table::CallSites, dex.call_sites.len());
        let mut handles = used(Table::Handles, dex.handles.len());
        remap.call_sites = new_indices(dex.call_sites.len(), &mut call_sites, |_, _| false);
        remap.handles = new_indices(dex.handles.len(), &mut handles, |_, _| false);
        limit("call sites", call_sites.len(), MAX_MEMBERS)?;
        limit("method handles", handles.len(), MAX_MEMBERS)?;
        let (types, protos) = (types.entries, protos.entries);
        let (fields, methods) = (fields.entries, methods.entries);
        Ok(Self { remap, strings, types, protos, fields, methods, call_sites, handles })
    }
}

fn limit(name: &'static str, size: usize, max: usize) -> Result<(), Limit> {
    if size <= max { Ok(()) } else { Err(Limit::Table { name }) }
}

/// A table in its new order.
struct Sorted<T> {
    entries: Vec<T>,
    /// New indices by old ones.
    indices: Vec<u32>,
}

impl<T: Clone> Sorted<T> {
    /// Sorts the entries of `table` whose indices are in `order`, after `new` has given them new indices.
    fn new(
        table: &[T],
        order: Vec<u32>,
        new: impl Fn(&T) -> Result<T, WriteError>,
        compare: impl Fn(&T, &T) -> Ordering,
    ) -> Result<Self, WriteError> {
        let entries = order.into_iter().filter_map(|index| Some((index, table.get(index as usize)?)));
        let entries = entries.map(|(index, entry)| Ok((index, new(entry)?)));
        let mut entries = entries.collect::<Result<Vec<(u32, T)>, WriteError>>()?;
        entries.sort_by(|(_, left), (_, right)| compare(left, right));
        let mut indices = vec![Remap::UNUSED; table.len()];
        let mut merged: Vec<T> = Vec::with_capacity(entries.len());
        for (old, entry) in entries {
            if merged.last().is_none_or(|last| compare(last, &entry).is_ne()) {
                merged.push(entry);
            }
            if let Some(index) = indices.get_mut(old as usize) {
                *index = (merged.len() - 1) as u32;
            }
        }
        Ok(Self { entries: merged, indices })
    }
}

/// Removes what is equal to its predecessor from `order`, and returns the new index of each of `size` old ones.
fn new_indices(size: usize, order: &mut Vec<u32>, equal: impl Fn(&u32, &u32) -> bool) -> Vec<u32> {
    let mut indices = vec![Remap::UNUSED; size];
    let mut next = 0;
    let mut previous = None;
    order.retain(|old| {
        let first = previous.is_none_or(|previous| !equal(&previous, old));
        if first {
            previous = Some(*old);
            next += 1;
        }
        if let Some(index) = indices.get_mut(*old as usize) {
            *index = next - 1;
        }
        first
    });
    indices
}
