//! Loads and stores of local variables.

use crate::class::opcodes::{ALOAD, ATHROW, WIDE};

/// Appends the load or store of local variable `number`.
pub(crate) fn access(opcode: u8, number: u16, out: &mut Vec<u8>) {
    match number.to_be_bytes() {
        [0, low] => out.extend_from_slice(&[opcode, low]),
        [high, low] => out.extend_from_slice(&[WIDE, opcode, high, low]),
    }
}

/// Appends the throw of the exception in local variable `number`.
pub(crate) fn throw(number: u16, out: &mut Vec<u8>) {
    access(ALOAD, number, out);
    out.push(ATHROW);
}
