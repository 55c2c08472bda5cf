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
        let mut sorting = Sorting { used, remap: Remap::default() };
        let new = |_: &Remap, index, string: &'d Cow<'_, [u8]>| Ok((index, &**string));
        let compare = |left: &(u32, &[u8]), right: &(u32, &[u8])| mutf8::compare(left.1, right.1);
        let strings = sorting.table(Table::Strings, &dex.strings, new, compare)?;

        let new = |remap: &Remap, _, &string: &u32| remap.get(Table::Strings, string);
        let types = sorting.table(Table::Types, &dex.types, new, Ord::cmp)?;

        let new = |remap: &Remap, _, proto: &Proto| {
            let parameters = proto.parameters.iter().map(|&kind| remap.get(Table::Types, kind));
            let parameters = parameters.collect::<Result<_, _>>()?;
            let shorty = remap.get(Table::Strings, proto.shorty)?;
            Ok(Proto { shorty, result: remap.get(Table::Types, proto.result)?, parameters })
        };
        let compare = |left: &Proto, right: &Proto| left.key().cmp(&right.key());
        let protos = sorting.table(Table::Protos, &dex.protos, new, compare)?;

        let new = |remap: &Remap, _, field: &Field| {
            let (class, kind) = (remap.get(Table::Types, field.class)?, remap.get(Table::Types, field.kind)?);
            Ok(Field { class, kind, name: remap.get(Table::Strings, field.name)? })
        };
        let fields = sorting.table(Table::Fields, &dex.fields, new, Ord::cmp)?;

        let new = |remap: &Remap, _, method: &Method| {
            let (class, proto) =
                (remap.get(Table::Types, method.class)?, remap.get(Table::Protos, method.proto)?);
            Ok(Method { class, proto, name: remap.get(Table::Strings, method.name)? })
        };
        let methods = sorting.table(Table::Methods, &dex.methods, new, Ord::cmp)?;

        // These two have no order that ART checks, and equal call sites are linked apart.
        let call_sites =
            sorting.table(Table::CallSites, &dex.call_sites, |_, index, _| Ok(index), Ord::cmp)?;
        let handles = sorting.table(Table::Handles, &dex.handles, |_, index, _| Ok(index), Ord::cmp)?;
        Ok(Self { remap: sorting.remap, strings, types, protos, fields, methods, call_sites, handles })
    }
}

/// Sorts tables one after the other: entries refer to tables that come before their own.
struct Sorting<'u> {
    used: Option<&'u Used<'u>>,
    /// New indices of the tables that are sorted.
    remap: Remap,
}

impl Sorting<'_> {
    /// Sorts what is used of a table, after `new` has given its entries new indices. Equal entries become one.
    fn table<'t, T, U>(
        &mut self,
        table: Table,
        entries: &'t [T],
        new: impl Fn(&Remap, u32, &'t T) -> Result<U, WriteError>,
        compare: impl Fn(&U, &U) -> Ordering,
    ) -> Result<Vec<U>, WriteError> {
        let mut indices = vec![Remap::UNUSED; entries.len()];
        let used = |index| self.used.is_none_or(|used| used.contains(table, index));
        let entries = (0..).zip(entries).filter(|(index, _)| used(*index));
        let entries = entries.map(|(index, entry)| Ok((index, new(&self.remap, index, entry)?)));
        let mut entries = entries.collect::<Result<Vec<(u32, U)>, WriteError>>()?;
        // What was read is in order, so that this is one pass over most files.
        entries.sort_by(|(_, left), (_, right)| compare(left, right));
        let mut merged: Vec<U> = Vec::with_capacity(entries.len());
        for (old, entry) in entries {
            if merged.last().is_none_or(|last| compare(last, &entry).is_ne()) {
                merged.push(entry);
            }
            indices[old as usize] = (merged.len() - 1) as u32;
        }
        table.check(merged.len())?;
        self.remap.tables[table as usize] = indices;
        Ok(merged)
    }
}
