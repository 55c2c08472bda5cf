//! Decoding of one instruction.

use crate::opcodes::{Effect, Format, opcode};

/// Identifier of a packed-switch payload.
pub(crate) const PACKED_SWITCH: u16 = 0x0100;
/// Identifier of a sparse-switch payload.
pub(crate) const SPARSE_SWITCH: u16 = 0x0200;
/// Identifier of a fill-array-data payload.
pub(crate) const ARRAY_DATA: u16 = 0x0300;

/// A decoded instruction or payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
    pub(crate) effect: Effect,
    pub(crate) op: u8,
    /// Length in code units.
    pub(crate) units: u32,
    /// The first operand; of an invoke the number of argument registers.
    pub(crate) a: u32,
    /// The second operand; of an invoke the index.
    pub(crate) b: u32,
    /// The third operand; of a range invoke the first argument register.
    pub(crate) c: u32,
    /// The prototype of an `invoke-polymorphic`.
    pub(crate) proto: u32,
    /// The literal, or the offset of a branch or payload.
    pub(crate) literal: i64,
    /// Argument registers of an invoke that is not a range.
    arguments: [u8; 5],
}

impl Instruction {
    /// Decodes the instruction at `pc`; `None` if it does not end within the code.
    pub(crate) fn decode(code: &[u16], pc: usize) -> Option<Self> {
        let first = *code.get(pc)?;
        let [low, high] = first.to_le_bytes();
        let (name, format, effect) = opcode(low);
        let (a4, b4) = (u32::from(high & 15), u32::from(high >> 4));
        let unit = |offset: usize| code.get(pc.checked_add(offset)?).copied();
        let wide = |offset: usize| Some(u32::from(unit(offset)?) | u32::from(unit(offset + 1)?) << 16);
        let mut decoded = Self {
            name,
            format,
            effect,
            op: low,
            units: format.units(),
            a: u32::from(high),
            b: 0,
            c: 0,
            proto: 0,
            literal: 0,
            arguments: [0; 5],
        };
        let d = &mut decoded;
        match format {
            Format::F10x => {
                if low == 0 {
                    d.units = payload_units(code, pc)?;
                }
            }
            Format::F12x | Format::F12x2 => (d.a, d.b) = (a4, b4),
            Format::F11n => (d.a, d.literal) = (a4, i64::from((high as i8) >> 4)),
            Format::F11x => {}
            Format::F10t => d.literal = i64::from(high as i8),
            Format::F20t => d.literal = i64::from(unit(1)? as i16),
            Format::F22x | Format::F21c => d.b = u32::from(unit(1)?),
            Format::F21t | Format::F21s => d.literal = i64::from(unit(1)? as i16),
            Format::F21h => d.literal = i64::from(unit(1)? as i16) << 16,
            Format::F21hw => d.literal = i64::from(unit(1)?) << 48,
            Format::F23x => {
                let [b, c] = unit(1)?.to_le_bytes();
                (d.b, d.c) = (u32::from(b), u32::from(c));
            }
            Format::F22b => {
                let [b, literal] = unit(1)?.to_le_bytes();
                (d.b, d.literal) = (u32::from(b), i64::from(literal as i8));
            }
            Format::F22t | Format::F22s => (d.a, d.b, d.literal) = (a4, b4, i64::from(unit(1)? as i16)),
            Format::F22c => (d.a, d.b, d.c) = (a4, b4, u32::from(unit(1)?)),
            Format::F32x => (d.a, d.b) = (u32::from(unit(1)?), u32::from(unit(2)?)),
            Format::F30t | Format::F31i | Format::F31t => d.literal = i64::from(wide(1)? as i32),
            Format::F31c => d.b = wide(1)?,
            Format::F35c | Format::F45cc => {
                let registers = unit(2)?;
                d.a = b4;
                d.b = u32::from(unit(1)?);
                for (position, register) in d.arguments.iter_mut().enumerate() {
                    *register =
                        if position == 4 { a4 as u8 } else { (registers >> (4 * position) & 15) as u8 };
                }
                d.c = u32::from(registers & 15);
                if format == Format::F45cc {
                    d.proto = u32::from(unit(3)?);
                }
            }
            Format::F3rc | Format::F4rcc => {
                (d.b, d.c) = (u32::from(unit(1)?), u32::from(unit(2)?));
                if format == Format::F4rcc {
                    d.proto = u32::from(unit(3)?);
                }
            }
            Format::F51l => d.literal = (u64::from(wide(1)?) | u64::from(wide(3)?) << 32) as i64,
        }
        let end = pc.checked_add(decoded.units as usize)?;
        (end <= code.len()).then_some(decoded)
    }

    /// Whether this is an invoke or `filled-new-array` with a list of registers rather than a range.
    pub(crate) fn has_list(&self) -> bool {
        matches!(self.format, Format::F35c | Format::F45cc)
    }

    /// Returns the register of an argument of an invoke; `None` if there are fewer.
    pub(crate) fn argument(&self, position: u32) -> Option<u32> {
        if position >= self.a {
            None
        } else if self.has_list() {
            self.arguments.get(position as usize).map(|&register| u32::from(register))
        } else {
            self.c.checked_add(position)
        }
    }

    /// Returns the index of the type in `check-cast`, `new-array` and their like.
    pub(crate) fn index(&self) -> u32 {
        if self.format == Format::F22c { self.c } else { self.b }
    }

    /// Whether this `nop` is the start of a payload.
    pub(crate) fn is_payload(&self) -> bool {
        self.op == 0 && matches!(self.a, 1..=3)
    }
}

/// Returns the length of the `nop` or payload at `pc` in code units.
fn payload_units(code: &[u16], pc: usize) -> Option<u32> {
    let unit = |offset: usize| code.get(pc.checked_add(offset)?).copied().map(u32::from);
    match *code.get(pc)? {
        PACKED_SWITCH => Some(4 + unit(1)? * 2),
        SPARSE_SWITCH => Some(2 + unit(1)? * 4),
        ARRAY_DATA => {
            let count = unit(2)? | unit(3)? << 16;
            let bytes = u64::from(unit(1)?) * u64::from(count);
            u32::try_from(bytes.div_ceil(2)).ok()?.checked_add(4)
        }
        _ => Some(1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn operands_are_decoded() {
        // invoke-static {v1, v2, v3, v4, v5}, method 7
        let insn = Instruction::decode(&[0x5571, 7, 0x4321], 0).expect("it is whole");
        assert_eq!((insn.a, insn.b, insn.units), (5, 7, 3));
        assert_eq!((0..6).filter_map(|at| insn.argument(at)).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        // const/4 v2, -3
        let insn = Instruction::decode(&[0xd212], 0).expect("it is whole");
        assert_eq!((insn.a, insn.literal), (2, -3));
        // const-wide/high16 v0, 0x4000000000000000
        let insn = Instruction::decode(&[0x0019, 0x4000], 0).expect("it is whole");
        assert_eq!(insn.literal, 0x4000_0000_0000_0000);
        // A switch payload of two targets.
        let insn = Instruction::decode(&[0x0100, 2, 0, 0, 9, 0, 9, 0], 0).expect("it is whole");
        assert!(insn.is_payload() && insn.units == 8);
        assert!(Instruction::decode(&[0x0100, 3, 0, 0, 9, 0, 9, 0], 0).is_none());
    }

    proptest! {
        #[test]
        fn decoding_stays_within_the_code(code in proptest::collection::vec(any::<u16>(), 0..12), pc in 0usize..14) {
            if let Some(insn) = Instruction::decode(&code, pc) {
                prop_assert!(insn.units >= 1 && pc + insn.units as usize <= code.len());
            }
        }
    }
}
