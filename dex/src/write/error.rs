//! Why a dex file cannot be written.

use crate::Limit;
use crate::code::Fault;

/// Why a [`Dex`](crate::Dex) cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A table has too many entries; [`Dex::split`](crate::Dex::split) makes several files of it.
    #[error(transparent)]
    Limit(Limit),
    /// The code of a method cannot be written. If it was edited, the method can be left as it was.
    #[error("the code of method {method} cannot be written: {fault}")]
    Code {
        /// The method's index.
        method: u32,
        /// Why.
        fault: Fault,
    },
    /// An index is outside of its table.
    #[error("the dex file refers to {table} by index {index}, which is outside of the table")]
    Index {
        /// `strings`, `types`, `protos`, `fields`, `methods`, `call sites` or `method handles`.
        table: &'static str,
        /// The index.
        index: u32,
    },
    /// A string is not valid MUTF-8.
    #[error("string {index} is not valid MUTF-8")]
    String {
        /// The string's index.
        index: u32,
    },
    /// The file would be larger than 4 GiB.
    #[error("the dex file would be larger than 4 GiB")]
    TooLarge,
}

impl From<Limit> for WriteError {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}
