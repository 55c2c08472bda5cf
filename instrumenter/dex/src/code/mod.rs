//! The code of methods.
//!
//! [`Code`] is a code item as it stands in a file. A method that is not edited stays one: [`Code::remapped`] only replaces
//! indices. An edit works on a [`Body`], which has labels instead of addresses.

mod body;
mod debug;
mod facts;
mod indices;
mod insert;
mod instruction;
mod layout;
mod liveness;
mod opcode;
mod read;
mod remapped;
mod scan;
pub mod trace;
mod write;

#[cfg(test)]
mod programs;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use crate::error::Fault;
pub use crate::table::Use;
pub use body::Body;
pub(crate) use debug::operands as debug_operands;
pub use facts::{Call, Facts, Invoke, facts};
pub use instruction::{Instruction, Label, Operand};
pub use opcode::{
    CONST, CONST_4, Format, INVOKE_INTERFACE, INVOKE_INTERFACE_RANGE, INVOKE_STATIC, INVOKE_STATIC_RANGE,
    INVOKE_VIRTUAL, INVOKE_VIRTUAL_RANGE, MONITOR_ENTER, MONITOR_EXIT, NEW_ARRAY, NEW_INSTANCE, Opcode, Role,
    SGET, SPUT_SHORT, opcode,
};

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
