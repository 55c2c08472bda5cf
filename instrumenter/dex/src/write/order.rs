//! The order of the tables.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::uses::Used;
use crate::{Dex, Field, Method, Proto, Remap, Table, WriteError, mutf8};

/// The tables in the order of the format, and the new indices.
pub(super) struct Order<'d> {
    pub(super) remap: Remap,
    /// Each with its old index.
    pub(super) strings: Vec<(u32, &'d [u8])>,
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

impl<'d> Order<'d> {
    /// Sorts every table of `dex`, or what is used of it. Entries that are equal become one.
    pub(super) fn of(dex: &'d Dex<'_>, used: Option<&Used<'_>>) -> Result<Self, WriteError> {
        let mut remap = Remap::default();
        let used = |table: Table| move |index| used.is_none_or(|used| used.contains(table, index));

        let new = |index, string: &'d Cow<'_, [u8]>| Ok((index, &**string));
        let compare = |left: &(u32, &[u8]), right: &(u32, &[u8])| mutf8::compare(left.1, right.1);
        let (strings, indices) = sorted(&dex.strings, used(Table::Strings), new, compare)?;
        remap.strings = indices;

        let new = |_, &string: &u32| remap.get(Table::Strings, string);
        let (types, indices) = sorted(&dex.types, used(Table::Types), new, Ord::cmp)?;
        remap.types = indices;
        Table::Types.check(types.len())?;

        let new = |_, proto: &Proto| {
            let parameters = proto.parameters.iter().map(|&kind| remap.get(Table::Types, kind));
            let parameters = parameters.collect::<Result<_, _>>()?;
            let shorty = remap.get(Table::Strings, proto.shorty)?;
            Ok(Proto { shorty, result: remap.get(Table::Types, proto.result)?, parameters })
        };
        let compare = |left: &Proto, right: &Proto| left.key().cmp(&right.key());
        let (protos, indices) = sorted(&dex.protos, used(Table::Protos), new, compare)?;
        remap.protos = indices;
        Table::Protos.check(protos.len())?;

        let new = |_, field: &Field| {
            let (class, kind) = (remap.get(Table::Types, field.class)?, remap.get(Table::Types, field.kind)?);
            Ok(Field { class, kind, name: remap.get(Table::Strings, field.name)? })
        };
        let (fields, indices) = sorted(&dex.fields, used(Table::Fields), new, Ord::cmp)?;
        remap.fields = indices;
        Table::Fields.check(fields.len())?;

        let new = |_, method: &Method| {
            let (class, proto) =
                (remap.get(Table::Types, method.class)?, remap.get(Table::Protos, method.proto)?);
            Ok(Method { class, proto, name: remap.get(Table::Strings, method.name)? })
        };
        let (methods, indices) = sorted(&dex.methods, used(Table::Methods), new, Ord::cmp)?;
        remap.methods = indices;
        Table::Methods.check(methods.len())?;

        // These two have no order that ART checks, and equal call sites are linked apart.
        let (call_sites, indices) =
            sorted(&dex.call_sites, used(Table::CallSites), |index, _| Ok(index), Ord::cmp)?;
        remap.call_sites = indices;
        let (handles, indices) = sorted(&dex.handles, used(Table::Handles), |index, _| Ok(index), Ord::cmp)?;
        remap.handles = indices;
        Table::CallSites.check(call_sites.len())?;
        Table::Handles.check(handles.len())?;
        Ok(Self { remap, strings, types, protos, fields, methods, call_sites, handles })
    }
}

/// Sorts the entries of `table` whose indices are used, after `new` has given them new indices. Equal entries become one. Returns
/// the table, and its indices by the old ones.
fn sorted<'t, T, U>(
    table: &'t [T],
    used: impl Fn(u32) -> bool,
    new: impl Fn(u32, &'t T) -> Result<U, WriteError>,
    compare: impl Fn(&U, &U) -> Ordering,
) -> Result<(Vec<U>, Vec<u32>), WriteError> {
    let entries = (0..).zip(table).filter(|(index, _)| used(*index));
    let entries = entries.map(|(index, entry)| Ok((index, new(index, entry)?)));
    let mut entries = entries.collect::<Result<Vec<(u32, U)>, WriteError>>()?;
    // What was read is in order, so that this is one pass over most files.
    entries.sort_by(|(_, left), (_, right)| compare(left, right));
    let mut indices = vec![Remap::UNUSED; table.len()];
    let mut merged: Vec<U> = Vec::with_capacity(entries.len());
    for (old, entry) in entries {
        if merged.last().is_none_or(|last| compare(last, &entry).is_ne()) {
            merged.push(entry);
        }
        indices[old as usize] = (merged.len() - 1) as u32;
    }
    Ok((merged, indices))
}
