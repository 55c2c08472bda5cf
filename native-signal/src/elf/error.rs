//! Errors in an object's tables.

use std::fmt;

/// An error in an object's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElfError {
    /// A table leaves the object's readable memory.
    OutOfBounds {
        /// Which.
        table: &'static str,
    },
    /// A table has entries of another size than the ABI says, or ends within one.
    EntrySize {
        /// Which.
        table: &'static str,
    },
    /// The dynamic section lacks something that goes with what it has.
    Missing {
        /// What.
        entry: &'static str,
    },
    /// Packed relocations do not begin with `APS2`.
    PackedMagic,
    /// Packed relocations end too early.
    PackedEnd,
    /// Packed relocations hold an invalid number: one of more than 64 bits, a negative count, more entries
    /// than an object can have, or addends where the format has none.
    PackedValue,
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::OutOfBounds { table } => {
                write!(f, "{table} is outside of the object's readable memory")
            }
            ElfError::EntrySize { table } => write!(f, "{table} has entries of an unexpected size"),
            ElfError::Missing { entry } => write!(f, "the dynamic section has no {entry}"),
            ElfError::PackedMagic => f.write_str("packed relocations do not begin with APS2"),
            ElfError::PackedEnd => f.write_str("packed relocations end too early"),
            ElfError::PackedValue => f.write_str("packed relocations hold an impossible number"),
        }
    }
}

impl std::error::Error for ElfError {}
