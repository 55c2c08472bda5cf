//! One instruction: its registers and operand, read from units and written to them.

use super::opcode::{CONST_HIGH16, Format, Opcode, Role, opcode, plain};
use crate::table::Table;

/// A place in the code that instructions can branch to: an index in a body's list of labels.
pub type Label = u32;

/// What an instruction has besides its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Nothing.
    None,
    /// A number, with the sign and shift of the format applied: the value that a `const` loads.
    Literal(i64),
    /// An index of the kind that the opcode refers to.
    Index(u32),
    /// A method and a proto index.
    Indices(u16, u16),
    /// Where a branch goes.
    Target(Label),
    /// The switch or array data: an index in the body's list of payloads.
    Payload(u32),
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its number in the instruction set. All three widths of `goto` have the number of the shortest.
    pub op: u8,
    /// Registers in [`Self::registers`]; for a range, registers in the range.
    pub count: u8,
    /// vA, vB and vC; or the list; or the first register of a range.
    pub registers: [u16; 5],
    /// The address of the instruction in the code that was read, in units; [`Self::NEW`] if it was inserted.
    pub pc: u32,
    #[allow(missing_docs)]
    pub operand: Operand,
}

/// Reads the unit at address `pc`.
#[inline]
pub(crate) fn unit(units: &[u8], pc: u32) -> Option<u16> {
    let at = (pc as usize).checked_mul(2)?;
    let bytes = units.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]))
}

/// Reads two units, the low one first.
#[inline]
pub(crate) fn pair(units: &[u8], pc: u32) -> Option<u32> {
    Some(u32::from(unit(units, pc)?) | u32::from(unit(units, pc.checked_add(1)?)?) << 16)
}

#[inline]
fn low(unit: u16) -> u16 {
    unit & 0xFF
}

#[inline]
fn high(unit: u16) -> u16 {
    unit >> 8
}

#[inline]
fn nibble(unit: u16, which: u32) -> u16 {
    unit >> (4 * which) & 0xF
}

/// `const/high16` and `const-wide/high16` set the upper half of 32 and 64 bits.
#[inline]
fn high_shift(op: u8) -> u32 {
    if op == CONST_HIGH16 { 16 } else { 48 }
}

impl Instruction {
    /// The address of an instruction that was not read.
    pub const NEW: u32 = u32::MAX;

    /// Makes an instruction with these registers.
    #[must_use]
    #[inline]
    pub fn new(op: u8, registers: &[u16], operand: Operand) -> Self {
        let mut all = [0; 5];
        all.iter_mut().zip(registers).for_each(|(place, register)| *place = *register);
        Self { op, count: registers.len().min(5) as u8, registers: all, pc: Self::NEW, operand }
    }

    /// Returns the entry of the instruction set. The number of an `Instruction` is always valid.
    #[must_use]
    #[inline]
    pub fn opcode(&self) -> &'static Opcode {
        const UNKNOWN: &Opcode = &plain(Format::F10x);
        opcode(self.op).unwrap_or(UNKNOWN)
    }

    /// Returns each register, the second ones of pairs that are not in a list left out.
    pub fn registers(&self) -> impl Iterator<Item = u32> + '_ {
        let is_range = matches!(self.opcode().format, Format::F3rc | Format::F4rcc);
        let first = u32::from(self.registers[0]);
        let of_range = (0..u32::from(self.count)).filter(move |_| is_range).map(move |index| first + index);
        let listed = self.registers.iter().take(usize::from(self.count)).filter(move |_| !is_range);
        listed.map(|register| u32::from(*register)).chain(of_range)
    }

    /// Returns each register with what is done to it. Those of a list are single, also where two of them are a pair.
    pub fn accesses(&self) -> impl Iterator<Item = (u32, Role)> + '_ {
        let roles = self.opcode().roles;
        let argument = Role { reads: true, writes: false, wide: false };
        self.registers()
            .enumerate()
            .map(move |(index, register)| (register, roles.get(index).copied().flatten().unwrap_or(argument)))
    }

    /// Returns whether `register` is read.
    pub(crate) fn reads(&self, register: u32) -> bool {
        self.touches(register, |role| role.reads)
    }

    /// Returns whether `register` is written.
    pub(crate) fn writes(&self, register: u32) -> bool {
        self.touches(register, |role| role.writes)
    }

    fn touches(&self, register: u32, how: impl Fn(Role) -> bool) -> bool {
        self.accesses().any(|(first, role)| {
            how(role) && (first == register || role.wide && first.checked_add(1) == Some(register))
        })
    }

    /// Returns each index with the table that it refers to.
    pub(crate) fn references(&self) -> impl Iterator<Item = (Table, u32)> + use<> {
        let kind = self.opcode().reference;
        let found = match (self.operand, kind) {
            (Operand::Index(index), Some(kind)) => [Some((kind, index)), None],
            (Operand::Indices(method, proto), _) => {
                [Some((Table::Methods, u32::from(method))), Some((Table::Protos, u32::from(proto)))]
            }
            _ => [None, None],
        };
        found.into_iter().flatten()
    }
}

/// Reads the distance of the branch or payload of the instruction at `pc`. `None` if the format has none, or if the units end.
pub(crate) fn distance(units: &[u8], pc: u32, format: Format) -> Option<i32> {
    use Format::*;
    match format {
        F10t => Some(i32::from(unit(units, pc)?.cast_signed() >> 8)),
        F20t | F21t | F22t => Some(i32::from(unit(units, pc.checked_add(1)?)?.cast_signed())),
        F30t | F31t => Some(pair(units, pc.checked_add(1)?)?.cast_signed()),
        _ => None,
    }
}

/// Decodes the instruction at `pc`, with the distance of its branch or payload in units. `None` if the units end, or if there is
/// no such instruction.
pub(crate) fn decode(units: &[u8], pc: u32) -> Option<(Instruction, i32)> {
    use Format::*;
    let first = unit(units, pc)?;
    let op = low(first) as u8;
    let format = opcode(op)?.format;
    let at = |index: u32| unit(units, pc.checked_add(index)?);
    let signed = |index: u32| at(index).map(|unit| i64::from(unit.cast_signed()));
    let wide = |index: u32| pair(units, pc.checked_add(index)?);
    let (a8, a4, b4) = (high(first), nibble(first, 2), nibble(first, 3));
    let (registers, count) = match format {
        F10x | F10t | F20t | F30t => ([0; 5], 0),
        F11n => ([a4, 0, 0, 0, 0], 1),
        F11x | F21t | F21s | F21h | F21c | F31i | F31t | F31c | F51l => ([a8, 0, 0, 0, 0], 1),
        F12x | F22t | F22s | F22c => ([a4, b4, 0, 0, 0], 2),
        F22x => ([a8, at(1)?, 0, 0, 0], 2),
        F22b => ([a8, low(at(1)?), 0, 0, 0], 2),
        F23x => ([a8, low(at(1)?), high(at(1)?), 0, 0], 3),
        F32x => ([at(1)?, at(2)?, 0, 0, 0], 2),
        F35c | F45cc if b4 > 5 => return None,
        F35c | F45cc => {
            let list = at(2)?;
            let mut all = [nibble(list, 0), nibble(list, 1), nibble(list, 2), nibble(list, 3), a4];
            all.iter_mut().skip(usize::from(b4)).for_each(|unused| *unused = 0);
            (all, b4)
        }
        F3rc | F4rcc => ([at(2)?, 0, 0, 0, 0], a8),
    };
    let operand = match format {
        F11n => Operand::Literal(i64::from(first.cast_signed() >> 12)),
        F21s | F22s => Operand::Literal(signed(1)?),
        F21h => Operand::Literal(signed(1)? << high_shift(op)),
        F22b => Operand::Literal(signed(1)? >> 8),
        F31i => Operand::Literal(i64::from(wide(1)?.cast_signed())),
        F51l => Operand::Literal((u64::from(wide(1)?) | u64::from(wide(3)?) << 32).cast_signed()),
        F21c | F22c | F35c | F3rc => Operand::Index(u32::from(at(1)?)),
        F31c => Operand::Index(wide(1)?),
        F45cc | F4rcc => Operand::Indices(at(1)?, at(3)?),
        F10x | F11x | F12x | F22x | F23x | F32x | F10t | F20t | F21t | F22t | F30t | F31t => Operand::None,
    };
    let offset = if format.has_distance() { distance(units, pc, format)? } else { 0 };
    Some((Instruction { op, count: count as u8, registers, pc, operand }, offset))
}

/// Appends an instruction. `offset` is the distance of its branch or payload, and must fit. `None` if an operand does not fit.
pub(crate) fn encode(instruction: &Instruction, offset: i32, out: &mut Vec<u8>) -> Option<()> {
    use Format::*;
    let Instruction { op, count, registers: [a, b, c, d, e], operand, .. } = *instruction;
    let format = opcode(op)?.format;
    let literal = match operand {
        Operand::Literal(value) => value,
        _ => 0,
    };
    let index = match operand {
        Operand::Index(index) => index,
        Operand::Indices(method, _) => u32::from(method),
        _ => 0,
    };
    let byte = |value: u16| (value <= 0xFF).then_some(value);
    let nibbles = |low: u16, high: u16| (low <= 0xF && high <= 0xF).then_some(low | high << 4);
    let signed_byte = |value: i64| i8::try_from(value).ok().map(|value| u16::from(value.cast_unsigned()));
    let short = |value: i64| i16::try_from(value).ok().map(i16::cast_unsigned);
    let short_index = || u16::try_from(index).ok();
    let split = |value: u32| [value as u16, (value >> 16) as u16];
    let mut put = |units: &[u16]| units.iter().for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
    let upper = match format {
        F10x | F20t | F30t | F32x => 0,
        F10t => signed_byte(offset.into())?,
        F11n => nibbles(a, short(literal).filter(|_| (-8..8).contains(&literal))? & 0xF)?,
        F12x | F22t | F22s | F22c => nibbles(a, b)?,
        F35c | F45cc => nibbles(e, u16::from(count))?,
        F3rc | F4rcc => u16::from(count),
        F11x | F22x | F21t | F21s | F21h | F21c | F23x | F22b | F31i | F31t | F31c | F51l => byte(a)?,
    };
    put(&[u16::from(op) | upper << 8]);
    match format {
        F10x | F10t | F11n | F11x | F12x => {}
        F20t | F21t | F22t => put(&[short(offset.into())?]),
        F21s | F22s => put(&[short(literal)?]),
        F21h => {
            let shift = high_shift(op);
            put(&[short(literal >> shift).filter(|_| literal >> shift << shift == literal)?]);
        }
        F21c | F22c => put(&[short_index()?]),
        F22x => put(&[b]),
        F22b => put(&[byte(b)? | signed_byte(literal)? << 8]),
        F23x => put(&[byte(b)? | byte(c)? << 8]),
        F30t | F31t => put(&split(offset.cast_unsigned())),
        F31i => put(&split(i32::try_from(literal).ok()?.cast_unsigned())),
        F31c => put(&split(index)),
        F32x => put(&[a, b]),
        F35c | F45cc => put(&[short_index()?, nibbles(a, b)? | nibbles(c, d)? << 8]),
        F3rc | F4rcc => put(&[short_index()?, a]),
        F51l => {
            let bits = literal.cast_unsigned();
            put(&split(bits as u32));
            put(&split((bits >> 32) as u32));
        }
    }
    if let Operand::Indices(_, proto) = operand {
        put(&[proto]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::opcode::GOTO;
    use proptest::prelude::*;

    /// Every instruction with random other bits: what decodes encodes to the same units, apart from bits that no format uses.
    #[test]
    fn every_opcode_survives_the_round_trip() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        runner
            .run(&(any::<u8>(), any::<[u16; 4]>(), any::<u8>()), |(op, rest, high)| {
                let mut bytes = vec![op, high];
                rest.iter().for_each(|unit| bytes.extend(unit.to_le_bytes()));
                let Some((instruction, offset)) = decode(&bytes, 0) else { return Ok(()) };
                let mut again = Vec::new();
                encode(&instruction, offset, &mut again).unwrap();
                let decoded = decode(&again, 0).unwrap();
                prop_assert_eq!(decoded, (instruction, offset));
                prop_assert_eq!(again.len() as u32, 2 * instruction.opcode().format.units());
                for cut in 0..again.len() {
                    prop_assert_eq!(decode(&again[..cut], 0), None);
                }
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn registers_and_literals_are_those_of_the_documentation() {
        let decoded = |units: &[u16]| {
            let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            decode(&bytes, 0).unwrap()
        };
        let seen = |units: &[u16]| {
            let (instruction, offset) = decoded(units);
            (instruction.registers().collect::<Vec<_>>(), instruction.operand, offset)
        };
        assert_eq!(seen(&[0xF512]), (vec![5], Operand::Literal(-1), 0), "const/4");
        assert_eq!(seen(&[0x0115, 0x8000]), (vec![1], Operand::Literal(-0x8000_0000), 0), "const/high16");
        assert_eq!(
            seen(&[0x0219, 0x3FF0]),
            (vec![2], Operand::Literal(0x3FF0 << 48), 0),
            "const-wide/high16"
        );
        assert_eq!(seen(&[u16::from(GOTO) | 0xFE00]), (vec![], Operand::None, -2), "goto");
        assert_eq!(seen(&[0x536E, 7, 0x4321]), (vec![1, 2, 3, 4, 3], Operand::Index(7), 0), "invoke-virtual");
        assert_eq!(seen(&[0x2371, 7, 0x4321]), (vec![1, 2], Operand::Index(7), 0), "unused nibbles");
        assert_eq!(seen(&[0x0377, 7, 300]), (vec![300, 301, 302], Operand::Index(7), 0), "a range");
        assert_eq!(
            seen(&[0x01FB, 7, 3, 9]),
            (vec![3], Operand::Indices(7, 9), 0),
            "invoke-polymorphic/range"
        );
        let long = decoded(&[0xA09B, 0x0402]).0;
        assert!(long.writes(0xA0) && long.writes(0xA1) && !long.writes(0xA2), "add-long");
        assert!(long.reads(2) && long.reads(5) && !long.reads(6));
    }
}
