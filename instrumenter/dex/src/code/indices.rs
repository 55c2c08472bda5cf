//! The indices that items of the tables have in a new file.

use crate::error::{Fault, Limit, Malformed};
use crate::remap::Remap;
use crate::table::Table;

/// Looks up new indices for the code at `at` in the file.
#[derive(Clone, Copy)]
pub(super) struct Indices<'r> {
    pub(super) remap: &'r Remap,
    pub(super) at: usize,
}

impl Indices<'_> {
    /// Returns the new index of an item.
    pub(super) fn new_index(self, table: Table, old: u32) -> Result<u32, Fault> {
        let what = "the code of a method refers to an item that is not in the tables";
        self.remap.find(table, old).ok_or(Fault::Malformed(Malformed { at: self.at, what }))
    }

    /// Returns the new index of an item that an instruction refers to by 16 bits.
    pub(super) fn short(self, table: Table, old: u32) -> Result<u16, Fault> {
        let new = u16::try_from(self.new_index(table, old)?);
        new.map_err(|_| Fault::Limit(Limit::Table(table.name())))
    }

    /// Returns true if a string's new index does not fit in a `const-string`.
    pub(super) fn is_jumbo(self, string: u32) -> bool {
        self.remap.tables[Table::Strings as usize].get(string as usize).is_some_and(|new| *new > 0xFFFF)
    }
}
