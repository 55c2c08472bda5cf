//! Why a dex file cannot be read or written.

/// Bytes that are not a valid dex file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {at})")]
pub struct Malformed {
    /// Offset in the file, in bytes.
    pub at: usize,
    /// What is wrong there, as the end of a sentence: "string index 70000 is outside of the table".
    pub what: &'static str,
}

/// A limit of the format that an edit would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// A table that is referred to by 16 bits would have more than 65,536 entries (types and protos: 65,535).
    #[error("the dex file would have more {name} than the format allows")]
    Table {
        /// `types`, `protos`, `fields` or `methods`.
        name: &'static str,
    },
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
