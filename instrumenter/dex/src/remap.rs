//! Where each item of the tables is written.

use crate::WriteError;
use crate::table::Table;

/// New indices by old ones. An item that is not written has [`Remap::UNUSED`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Remap {
    pub strings: Vec<u32>,
    pub types: Vec<u32>,
    pub protos: Vec<u32>,
    pub fields: Vec<u32>,
    pub methods: Vec<u32>,
    pub call_sites: Vec<u32>,
    pub handles: Vec<u32>,
}

impl Remap {
    /// The new index of an item that is not written.
    pub const UNUSED: u32 = u32::MAX;

    /// Whether every item keeps its index.
    pub(crate) fn is_identity(&self) -> bool {
        let Self { strings, types, protos, fields, methods, call_sites, handles } = self;
        let mut tables = [strings, types, protos, fields, methods, call_sites, handles].into_iter();
        tables.all(|table| table.iter().zip(0..).all(|(new, old)| *new == old))
    }

    /// The new index of an item; `None` if it is not written, or is not in the table.
    pub(crate) fn find(&self, table: Table, index: u32) -> Option<u32> {
        let indices = match table {
            Table::Strings => &self.strings,
            Table::Types => &self.types,
            Table::Protos => &self.protos,
            Table::Fields => &self.fields,
            Table::Methods => &self.methods,
            Table::CallSites => &self.call_sites,
            Table::Handles => &self.handles,
        };
        indices.get(index as usize).copied().filter(|&new| new != Self::UNUSED)
    }

    /// The new index of an item that must be written.
    pub(crate) fn get(&self, table: Table, index: u32) -> Result<u32, WriteError> {
        self.find(table, index).ok_or(WriteError::Index { table: table.name(), index })
    }

    /// The new indices of items of one table, each with what belongs to the item, in their order.
    pub(crate) fn sorted<T>(
        &self,
        table: Table,
        items: impl IntoIterator<Item = (u32, T)>,
    ) -> Result<Vec<(u32, T)>, WriteError> {
        let new = items.into_iter().map(|(index, item)| Ok((self.get(table, index)?, item)));
        let mut new = new.collect::<Result<Vec<_>, WriteError>>()?;
        new.sort_by_key(|&(index, _)| index);
        Ok(new)
    }
}
