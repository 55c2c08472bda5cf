//! Why a dex file cannot be read or written.

/// Bytes that are not a valid dex file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in the file, in bytes.
    pub at: usize,
    /// What is wrong there, as the end of a sentence: "string index 70000 is outside of the table".
    pub what: &'static str,
}

/// A limit of the format that an edit would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A table that is referred to by 16 bits would have more than 65,536 entries (types and protos: 65,535).
    Table {
        /// `types`, `protos`, `fields` or `methods`.
        name: &'static str,
    },
    /// A method needs more than 65,535 registers.
    Registers,
    /// A method's catch handlers take more than 64 KiB, which `handler_off` cannot address.
    Handlers,
    /// A method has more than 65,535 try ranges.
    Tries,
    /// A branch is farther than its widest form reaches.
    Branch,
}
