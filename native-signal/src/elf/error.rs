//! Errors in an object's tables.

use thiserror::Error;

/// An error in an object's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElfError {
    /// A table leaves the object's readable memory.
    #[error("{table} is outside of the object's readable memory")]
    OutOfBounds {
        /// Which.
        table: &'static str,
    },
    /// A table has entries of another size than the ABI says, or ends within one.
    #[error("{table} has entries of an unexpected size")]
    EntrySize {
        /// Which.
        table: &'static str,
    },
    /// The dynamic section lacks something that goes with what it has.
    #[error("the dynamic section has no {entry}")]
    Missing {
        /// What.
        entry: &'static str,
    },
    /// Packed relocations do not begin with `APS2`.
    #[error("packed relocations do not begin with APS2")]
    PackedMagic,
    /// Packed relocations end too early.
    #[error("packed relocations end too early")]
    PackedEnd,
    /// Packed relocations hold an invalid number: one of more than 64 bits, a negative count, more entries
    /// than an object can have, or addends where the format has none.
    #[error("packed relocations hold an impossible number")]
    PackedValue,
}
