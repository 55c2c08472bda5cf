//! Where each item of the tables is written.

use crate::WriteError;
use crate::table::{TABLES, Table};

/// New indices by old ones. An item that is not written has [`Remap::UNUSED`].
#[derive(Clone, Debug, Default)]
pub struct Remap {
    /// By the table's number.
    pub(crate) tables: [Vec<u32>; TABLES.len()],
}

impl Remap {
    /// The new index of an item that is not written.
    pub const UNUSED: u32 = u32::MAX;

    /// Whether every item keeps its index.
    pub(crate) fn is_identity(&self) -> bool {
        self.tables.iter().all(|table| table.iter().zip(0..).all(|(new, old)| *new == old))
    }

    /// The new index of an item; `None` if it is not written, or is not in the table.
    #[inline]
    pub(crate) fn find(&self, table: Table, index: u32) -> Option<u32> {
        self.tables[table as usize].get(index as usize).copied().filter(|&new| new != Self::UNUSED)
    }

    /// The new index of an item that must be written.
    #[inline]
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
