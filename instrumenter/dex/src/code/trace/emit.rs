//! The inserted instructions.

use super::Kind;
use crate::code::instruction::{Instruction, Operand};
use crate::code::opcode::{
    CONST, CONST_4, CONST_16, CONST_HIGH16, INVOKE_STATIC, INVOKE_STATIC_RANGE, MOVE, MOVE_16, MOVE_FROM16,
    MOVE_OBJECT, MOVE_OBJECT_16, MOVE_OBJECT_FROM16, MOVE_WIDE, MOVE_WIDE_16, MOVE_WIDE_FROM16,
};

/// The highest register that a `const` can load.
pub(super) const MAX_CONST: u32 = 0xFF;

/// The shortest instruction that loads `value` into `register`, which is at most [`MAX_CONST`].
pub(super) fn load(register: u16, value: u32) -> Instruction {
    let signed = value.cast_signed();
    let op = match signed {
        -8..8 if register < 16 => CONST_4,
        -0x8000..0x8000 => CONST_16,
        _ if value & 0xFFFF == 0 => CONST_HIGH16,
        _ => CONST,
    };
    Instruction::new(op, &[register], Operand::Literal(i64::from(signed)))
}

/// `method(id)` by way of `register`.
pub(super) fn call(register: u16, id: u32, method: u32) -> [Instruction; 2] {
    [load(register, id), invoke(method, register, 1)]
}

/// Calls a static method with the `count` registers from `first` on, at most five.
pub(super) fn invoke(method: u32, first: u16, count: u8) -> Instruction {
    let operand = Operand::Index(method);
    let list: Vec<u16> = (first..first + u16::from(count)).collect();
    match list.last() {
        Some(16..) => Instruction { count, ..Instruction::new(INVOKE_STATIC_RANGE, &[first], operand) },
        _ => Instruction::new(INVOKE_STATIC, &list, operand),
    }
}

/// Moves a value of this kind.
pub(super) fn move_to(to: u16, from: u16, kind: Kind) -> Instruction {
    let [short, middle, long] = match kind {
        Kind::Plain => [MOVE, MOVE_FROM16, MOVE_16],
        Kind::Wide => [MOVE_WIDE, MOVE_WIDE_FROM16, MOVE_WIDE_16],
        Kind::Object => [MOVE_OBJECT, MOVE_OBJECT_FROM16, MOVE_OBJECT_16],
    };
    let op = match (to, from) {
        (0..16, 0..16) => short,
        (0..256, _) => middle,
        _ => long,
    };
    Instruction::new(op, &[to, from], Operand::None)
}
