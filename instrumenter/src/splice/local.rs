//! Loads and stores of local variables.

use crate::class::opcodes::WIDE;

/// Appends the load or store of local variable `number`.
pub(crate) fn access(opcode: u8, number: u16, out: &mut Vec<u8>) {
    match number.to_be_bytes() {
        [0, low] => out.extend_from_slice(&[opcode, low]),
        [high, low] => out.extend_from_slice(&[WIDE, opcode, high, low]),
    }
}
