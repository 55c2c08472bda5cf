//! The tables of a dex file, to whose items others refer by index.

use crate::error::Limit;

/// Types and protos are referred to by 16 bits of which the last value stands for none.
const MAX_TYPES: usize = 0xffff;
/// Fields and methods are referred to by 16 bits.
const MAX_MEMBERS: usize = 0x1_0000;

/// A table of a dex file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Table {
    Strings,
    Types,
    Protos,
    Fields,
    Methods,
    CallSites,
    Handles,
}

/// An item of the tables that something refers to: its table and its index.
pub type Use = (Table, u32);

use Table::{CallSites, Fields, Handles, Methods, Protos, Strings, Types};

/// The tables in the order of their numbers.
pub(crate) const TABLES: [Table; 7] = [Strings, Types, Protos, Fields, Methods, CallSites, Handles];

impl Table {
    /// The name in errors, the number of entries that a file can have, and the error of an index that is too large.
    fn properties(self) -> (&'static str, usize, &'static str) {
        match self {
            Strings => ("strings", u32::MAX as usize, "a string index is outside of the table"),
            Types => ("types", MAX_TYPES, "a type index is outside of the table"),
            Protos => ("protos", MAX_TYPES, "a proto index is outside of the table"),
            Fields => ("fields", MAX_MEMBERS, "a field index is outside of the table"),
            Methods => ("methods", MAX_MEMBERS, "a method index is outside of the table"),
            CallSites => ("call sites", MAX_MEMBERS, "a call site index is outside of the table"),
            Handles => ("method handles", MAX_MEMBERS, "a method handle index is outside of the table"),
        }
    }

    /// The table's name in errors.
    pub(crate) fn name(self) -> &'static str {
        self.properties().0
    }

    /// The number of entries that a file can have.
    pub(crate) fn max(self) -> usize {
        self.properties().1
    }

    /// The error of an index that is not below the number of entries.
    pub(crate) fn outside(self) -> &'static str {
        self.properties().2
    }

    /// Checks that a file can have this table with `size` entries.
    pub(crate) fn check(self, size: usize) -> Result<(), Limit> {
        if size <= self.max() { Ok(()) } else { Err(Limit::Table(self.name())) }
    }
}
