//! The instruction set: opcodes, lengths, and a checked walk over code.

use crate::error::Malformed;

pub(crate) const ACONST_NULL: u8 = 1;
pub(crate) const ICONST_M1: u8 = 2;
pub(crate) const ICONST_0: u8 = 3;
pub(crate) const ICONST_1: u8 = 4;
pub(crate) const ICONST_5: u8 = 8;
pub(crate) const LCONST_0: u8 = 9;
pub(crate) const LCONST_1: u8 = 10;
pub(crate) const FCONST_0: u8 = 11;
pub(crate) const FCONST_2: u8 = 13;
pub(crate) const DCONST_0: u8 = 14;
pub(crate) const DCONST_1: u8 = 15;
pub(crate) const BIPUSH: u8 = 16;
pub(crate) const SIPUSH: u8 = 17;
pub(crate) const LDC: u8 = 18;
pub(crate) const LDC_W: u8 = 19;
pub(crate) const LDC2_W: u8 = 20;
pub(crate) const ILOAD: u8 = 21;
pub(crate) const ALOAD: u8 = 25;
pub(crate) const ILOAD_0: u8 = 26;
pub(crate) const ILOAD_1: u8 = 27;
pub(crate) const ALOAD_0: u8 = 42;
pub(crate) const ALOAD_3: u8 = 45;
pub(crate) const IALOAD: u8 = 46;
pub(crate) const LALOAD: u8 = 47;
pub(crate) const FALOAD: u8 = 48;
pub(crate) const DALOAD: u8 = 49;
pub(crate) const AALOAD: u8 = 50;
pub(crate) const SALOAD: u8 = 53;
pub(crate) const ISTORE: u8 = 54;
pub(crate) const ASTORE: u8 = 58;
pub(crate) const ISTORE_0: u8 = 59;
pub(crate) const ASTORE_0: u8 = 75;
pub(crate) const ASTORE_3: u8 = 78;
pub(crate) const IASTORE: u8 = 79;
pub(crate) const LASTORE: u8 = 80;
pub(crate) const DASTORE: u8 = 82;
pub(crate) const SASTORE: u8 = 86;
pub(crate) const POP: u8 = 87;
pub(crate) const DUP: u8 = 89;
pub(crate) const SWAP: u8 = 95;
pub(crate) const IADD: u8 = 96;
pub(crate) const DREM: u8 = 115;
pub(crate) const ISHL: u8 = 120;
pub(crate) const LUSHR: u8 = 125;
pub(crate) const IAND: u8 = 126;
pub(crate) const LXOR: u8 = 131;
pub(crate) const IINC: u8 = 132;
pub(crate) const I2L: u8 = 133;
pub(crate) const D2F: u8 = 144;
pub(crate) const LCMP: u8 = 148;
pub(crate) const FCMPL: u8 = 149;
pub(crate) const FCMPG: u8 = 150;
pub(crate) const DCMPL: u8 = 151;
pub(crate) const DCMPG: u8 = 152;
pub(crate) const IFEQ: u8 = 153;
pub(crate) const IFLE: u8 = 158;
pub(crate) const IF_ICMPEQ: u8 = 159;
pub(crate) const IF_ACMPNE: u8 = 166;
pub(crate) const GOTO: u8 = 167;
pub(crate) const JSR: u8 = 168;
pub(crate) const RET: u8 = 169;
pub(crate) const TABLESWITCH: u8 = 170;
pub(crate) const LOOKUPSWITCH: u8 = 171;
pub(crate) const IRETURN: u8 = 172;
pub(crate) const RETURN: u8 = 177;
pub(crate) const GETSTATIC: u8 = 178;
pub(crate) const PUTSTATIC: u8 = 179;
pub(crate) const GETFIELD: u8 = 180;
pub(crate) const PUTFIELD: u8 = 181;
pub(crate) const INVOKEVIRTUAL: u8 = 182;
pub(crate) const INVOKESPECIAL: u8 = 183;
pub(crate) const INVOKESTATIC: u8 = 184;
pub(crate) const INVOKEINTERFACE: u8 = 185;
pub(crate) const INVOKEDYNAMIC: u8 = 186;
pub(crate) const NEW: u8 = 187;
pub(crate) const NEWARRAY: u8 = 188;
pub(crate) const ANEWARRAY: u8 = 189;
pub(crate) const ARRAYLENGTH: u8 = 190;
pub(crate) const ATHROW: u8 = 191;
pub(crate) const CHECKCAST: u8 = 192;
pub(crate) const INSTANCEOF: u8 = 193;
pub(crate) const MONITORENTER: u8 = 194;
pub(crate) const MONITOREXIT: u8 = 195;
pub(crate) const WIDE: u8 = 196;
pub(crate) const MULTIANEWARRAY: u8 = 197;
pub(crate) const IFNULL: u8 = 198;
pub(crate) const IFNONNULL: u8 = 199;
pub(crate) const GOTO_W: u8 = 200;
pub(crate) const JSR_W: u8 = 201;

/// Length in bytes by opcode; 0 if it depends on the operands (switches, `wide`), or for an invalid opcode.
const LENGTHS: [u8; 256] = {
    let mut lengths = [0_u8; 256];
    let mut opcode = 0;
    while opcode <= JSR_W as usize {
        lengths[opcode] = match opcode as u8 {
            TABLESWITCH | LOOKUPSWITCH | WIDE => 0,
            BIPUSH | LDC | ILOAD..=ALOAD | ISTORE..=ASTORE | RET | NEWARRAY => 2,
            SIPUSH | LDC_W | LDC2_W | IINC | IFEQ..=JSR | GETSTATIC..=INVOKESTATIC => 3,
            NEW | ANEWARRAY | CHECKCAST | INSTANCEOF | IFNULL | IFNONNULL => 3,
            MULTIANEWARRAY => 4,
            INVOKEINTERFACE | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
            _ => 1,
        };
        opcode += 1;
    }
    lengths
};

/// Returns whether `opcode` is one of the six returns.
pub(crate) const fn is_return(opcode: u8) -> bool {
    opcode >= IRETURN && opcode <= RETURN
}

/// Returns whether `opcode` jumps by a signed 16-bit offset.
pub(crate) const fn is_short_branch(opcode: u8) -> bool {
    (opcode >= IFEQ && opcode <= JSR) || opcode == IFNULL || opcode == IFNONNULL
}

/// Returns whether `opcode` belongs to the subroutines of old compilers, whose return address is a value.
pub(crate) const fn is_subroutine(opcode: u8) -> bool {
    opcode == JSR || opcode == RET || opcode == JSR_W
}

/// An instruction of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) pc: u32,
    pub(crate) opcode: u8,
    pub(crate) length: u32,
}

impl Instruction {
    pub(crate) fn next(&self) -> u32 {
        self.pc + self.length
    }
}

/// The operands of a switch, as the bytes of the class file.
pub(crate) struct Switch<'a> {
    /// `default`: the first jump offset.
    pub(crate) default: i32,
    /// `low high`, or `npairs`, copied unchanged.
    pub(crate) head: &'a [u8],
    /// For each case the bytes of its key (none in a table switch), then the four bytes of its offset.
    pub(crate) cases: &'a [u8],
    /// Size of a case: 4 or 8.
    pub(crate) stride: usize,
}

impl Switch<'_> {
    /// Returns all jump offsets, the default first.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = i32> + '_ {
        let cases = self.cases.chunks_exact(self.stride).filter_map(|case| case.last_chunk::<4>());
        core::iter::once(self.default).chain(cases.map(|offset| i32::from_be_bytes(*offset)))
    }
}

fn malformed(what: &'static str) -> Malformed {
    // The caller adds the position of the code in the file.
    Malformed { at: 0, what }
}

/// Returns the `N` bytes at `at`.
fn bytes_at<const N: usize>(code: &[u8], at: usize) -> Option<[u8; N]> {
    code.get(at..)?.first_chunk::<N>().copied()
}

/// Returns the 16-bit operand at `at`.
pub(crate) fn u2_at(code: &[u8], at: u32) -> Result<u16, Malformed> {
    bytes_at(code, at as usize).map(u16::from_be_bytes).ok_or_else(|| malformed("an operand is truncated"))
}

/// Returns the 32-bit signed operand at `at`.
pub(crate) fn i4_at(code: &[u8], at: u32) -> Result<i32, Malformed> {
    bytes_at(code, at as usize).map(i32::from_be_bytes).ok_or_else(|| malformed("an operand is truncated"))
}

/// Returns the number of zero bytes between the opcode of a switch at `pc` and its operands.
pub(crate) const fn switch_padding(pc: u32) -> u32 {
    3 - pc % 4
}

/// Returns the switch at `pc`, and its length.
pub(crate) fn switch_at(code: &[u8], pc: u32) -> Result<(Switch<'_>, u32), Malformed> {
    let cut = || malformed("a switch is truncated");
    let operands = pc + 1 + switch_padding(pc);
    let default = i4_at(code, operands)?;
    let (head_length, stride, count) = if code.get(pc as usize) == Some(&TABLESWITCH) {
        let low = i64::from(i4_at(code, operands + 4)?);
        let high = i64::from(i4_at(code, operands + 8)?);
        (8, 4, high - low + 1)
    } else {
        (4, 8, i64::from(i4_at(code, operands + 4)?))
    };
    let head_at = operands as usize + 4;
    let count = usize::try_from(count).map_err(|_| malformed("a switch has a negative size"))?;
    let cases_length = count.checked_mul(stride).filter(|&length| length <= code.len()).ok_or_else(cut)?;
    let cases_at = head_at + head_length;
    let head = code.get(head_at..cases_at).ok_or_else(cut)?;
    let cases = code.get(cases_at..cases_at + cases_length).ok_or_else(cut)?;
    // No overflow: the code has this slice, and is at most 4 GiB.
    let length = (cases_at + cases_length) as u32 - pc;
    Ok((Switch { default, head, cases, stride }, length))
}

/// Returns the instruction at `pc`.
pub(crate) fn instruction_at(code: &[u8], pc: u32) -> Result<Instruction, Malformed> {
    let cut = || malformed("the code ends inside an instruction");
    let opcode = *code.get(pc as usize).ok_or_else(cut)?;
    let length = match LENGTHS[usize::from(opcode)] {
        0 => match opcode {
            TABLESWITCH | LOOKUPSWITCH => switch_at(code, pc)?.1,
            WIDE => match code.get(pc as usize + 1).copied() {
                Some(IINC) => 6,
                Some(ILOAD..=ALOAD | ISTORE..=ASTORE | RET) => 4,
                _ => return Err(malformed("wide precedes an instruction without a wide form")),
            },
            _ => return Err(malformed("no such opcode")),
        },
        length => u32::from(length),
    };
    if pc as usize + length as usize > code.len() {
        return Err(cut());
    }
    Ok(Instruction { pc, opcode, length })
}

/// Returns the instructions of `code` in order, up to the first broken one.
pub(crate) fn instructions(code: &[u8]) -> impl Iterator<Item = Result<Instruction, Malformed>> + '_ {
    let mut pc = 0;
    core::iter::from_fn(move || {
        if pc as usize >= code.len() {
            return None;
        }
        let instruction = instruction_at(code, pc).map_err(|broken| broken.offset_by(pc as usize));
        pc = instruction.as_ref().map_or(u32::MAX, Instruction::next);
        Some(instruction)
    })
}

/// Returns the offset of the jump at `pc`, which is a short branch or a `goto_w`.
pub(crate) fn offset_at(code: &[u8], pc: u32) -> Result<i32, Malformed> {
    match code.get(pc as usize) {
        Some(&GOTO_W) => i4_at(code, pc + 1),
        _ => Ok(u2_at(code, pc + 1)?.cast_signed().into()),
    }
}

/// Returns where the jump at `pc` leads, as [`offset_at`].
pub(crate) fn target_at(code: &[u8], pc: u32) -> Result<u32, Malformed> {
    target(pc, offset_at(code, pc)?, code.len())
}

/// Returns where the switch at `pc` leads, the default first.
pub(crate) fn switch_targets(code: &[u8], pc: u32) -> Result<Vec<u32>, Malformed> {
    let (switch, _) = switch_at(code, pc)?;
    switch.offsets().map(|offset| target(pc, offset, code.len())).collect()
}

/// Returns the target of a jump at `pc` by `offset`, if it is inside code of `length` bytes.
pub(crate) fn target(pc: u32, offset: i32, length: usize) -> Result<u32, Malformed> {
    let target = i64::from(pc) + i64::from(offset);
    let target = u32::try_from(target).ok().filter(|&target| (target as usize) < length);
    target.ok_or_else(|| malformed("a jump leaves the code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_add_up_to_the_specification() {
        // Sums of the lengths in chapter 6.5 of the JVM specification, group by group.
        let sum = |range: core::ops::RangeInclusive<usize>| -> u32 {
            LENGTHS[range].iter().map(|&length| u32::from(length)).sum()
        };
        assert_eq!(sum(0..=20), 16 + 2 + 3 + 2 + 3 + 3);
        assert_eq!(sum(21..=53), 5 * 2 + 28);
        assert_eq!(sum(54..=86), 5 * 2 + 28);
        assert_eq!(sum(87..=152), 65 + 3);
        assert_eq!(sum(153..=169), 16 * 3 + 2);
        assert_eq!(sum(170..=177), 6);
        assert_eq!(sum(178..=193), 7 * 3 + 5 + 5 + 3 + 2 + 3 + 1 + 1 + 3 + 3);
        assert_eq!(sum(194..=201), 1 + 1 + 4 + 3 + 3 + 5 + 5);
        assert_eq!(sum(202..=255), 0);
    }

    #[test]
    fn switches_are_measured_with_their_padding() {
        // tableswitch 0..=1 at pc 1: two bytes of padding.
        let mut code = vec![0, TABLESWITCH, 0, 0];
        for word in [24_i32, 0, 1, 20, 21] {
            code.extend(word.to_be_bytes());
        }
        let (switch, length) = switch_at(&code, 1).unwrap();
        assert_eq!((switch.default, length as usize), (24, code.len() - 1));
        assert_eq!(switch.offsets().collect::<Vec<_>>(), [24, 20, 21]);

        let mut code = vec![LOOKUPSWITCH, 0, 0, 0];
        for word in [9_i32, 2, -5, 30, 7, 40] {
            code.extend(word.to_be_bytes());
        }
        let (switch, length) = switch_at(&code, 0).unwrap();
        assert_eq!((switch.default, length as usize), (9, code.len()));
        assert_eq!(switch.offsets().collect::<Vec<_>>(), [9, 30, 40]);

        code[11] = 200;
        assert!(switch_at(&code, 0).is_err());
        code[8] = 0xFF;
        assert!(switch_at(&code, 0).is_err());
    }

    #[test]
    fn a_walk_ends_at_the_first_broken_instruction() {
        assert_eq!(instructions(&[0, 0, 203]).filter_map(Result::ok).count(), 2);
        assert!(instructions(&[SIPUSH, 1]).last().unwrap().is_err());
        assert!(instructions(&[WIDE, 0, 0, 0]).last().unwrap().is_err());
        assert_eq!(instructions(&[WIDE, IINC, 0, 1, 0, 1]).last().unwrap().unwrap().length, 6);
    }
}
