//! Why a dex file cannot be read or written.

/// Bytes that are not a valid dex file. The readers of class files and of manifests have the same errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {at})")]
pub struct Malformed {
    /// Offset in the file, in bytes.
    pub at: usize,
    /// What is wrong there, as the end of a sentence: "string index 70000 is outside of the table".
    pub what: &'static str,
}

impl Malformed {
    /// Says `what` is wrong at the offset `at`.
    #[inline]
    #[must_use]
    pub const fn new(at: usize, what: &'static str) -> Self {
        Self { at, what }
    }

    /// Refuses a file in which something `is_so` that must not be.
    #[inline]
    pub fn when(is_so: bool, at: usize, what: &'static str) -> Result<(), Self> {
        if is_so { Err(Self { at, what }) } else { Ok(()) }
    }

    /// Adds `base` to an offset that was counted from there.
    #[must_use]
    pub fn offset_by(self, base: usize) -> Self {
        Self { at: self.at.saturating_add(base), ..self }
    }
}

/// A limit of the format that an edit would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// A table that is referred to by 16 bits would have more than 65,536 entries (types and protos: 65,535).
    #[error("the dex file would have more {0} than the format allows")]
    Table(&'static str),
    /// A method needs more than 65,535 registers.
    #[error("a method would need more than 65,535 registers")]
    Registers,
    /// A method's catch handlers take more than 64 KiB, which `handler_off` cannot address.
    #[error("the exception handlers of a method would take more than 64 KiB")]
    Handlers,
    /// A method has more than 65,535 try ranges.
    #[error("a method would have more than 65,535 try ranges")]
    Tries,
    /// A branch is farther than its widest form reaches.
    #[error("a branch would reach farther than the format allows")]
    Branch,
}

/// Why code cannot be written with the indices of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The code that was read is broken.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The edit exceeds a limit of the format.
    #[error(transparent)]
    Limit(#[from] Limit),
}

/// Why a [`Dex`](crate::Dex) cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A table has too many entries; [`Dex::split`](crate::Dex::split) makes several files of it.
    #[error(transparent)]
    Limit(#[from] Limit),
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
    #[error("string {0} is not valid MUTF-8")]
    String(u32),
    /// The file would be larger than 4 GiB.
    #[error("the dex file would be larger than 4 GiB")]
    TooLarge,
}
