//! The code of methods.

mod fault;
mod stand_in;

use std::borrow::Cow;

pub use fault::Fault;

/// A `code_item` with its try ranges, handlers and debug information. References are indices of the file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code<'a> {
    /// Offset in the file that was read, in bytes; for errors, and to find code that methods share. 0 for new code.
    pub at: usize,
    /// All registers; the last [`ins`](Self::ins) are the parameters'.
    pub registers: u16,
    /// Registers of parameters, `this` included.
    pub ins: u16,
    /// Registers of the arguments of the largest call.
    pub outs: u16,
    /// Instructions and payloads: 16-bit units, little-endian.
    pub units: Cow<'a, [u8]>,
    /// By address, without overlaps.
    pub tries: Vec<Try>,
    /// What `Try::handler` refers to.
    pub handlers: Vec<Handler>,
    /// The `debug_info_item` up to and with DBG_END_SEQUENCE.
    pub debug: Option<Cow<'a, [u8]>>,
}

/// A range of addresses with handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// First address, in units.
    pub start: u32,
    /// Units.
    pub length: u16,
    /// Index in [`Code::handlers`].
    pub handler: usize,
}

/// A list of catch clauses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Handler {
    /// Type index and address, in units.
    pub typed: Vec<(u32, u32)>,
    /// The address of the clause that catches everything.
    pub catch_all: Option<u32>,
}

/// A method's code as instructions with labels.
#[derive(Clone, Debug, Default)]
pub struct Body {}
