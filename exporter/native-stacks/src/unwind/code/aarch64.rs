//! Prologues and epilogues of aarch64.

use super::{MAX_EPILOGUE, Saved};
use crate::unwind::machine::Registers;
use crate::unwind::memory::Memory;

const FP: usize = 29;
const LR: usize = 30;
const SP: usize = 31;

/// The registers of a pair, the base register and the offset in bytes.
fn pair(word: u32) -> (usize, usize, usize, i64) {
    let offset = i64::from((word << 10).cast_signed() >> 25) * 8;
    ((word & 31) as usize, (word >> 10 & 31) as usize, (word >> 5 & 31) as usize, offset)
}

/// A 9-bit offset.
fn small(word: u32) -> i64 {
    i64::from((word << 11).cast_signed() >> 23)
}

/// The immediate of an addition.
fn immediate(word: u32) -> u64 {
    u64::from(word >> 10 & 0xfff) << if word >> 22 & 1 == 1 { 12 } else { 0 }
}

/// Hints: nop, bti, signing and checking of the return address.
fn is_hint(word: u32) -> bool {
    word & 0xffff_f01f == 0xd503_201f
}

/// Follows loads and additions to a `ret`.
pub(super) fn epilogue(caller: &mut Registers, code: &[u8], memory: &Memory<'_>) -> Option<()> {
    for word in code.as_chunks::<4>().0.iter().take(MAX_EPILOGUE) {
        let word = u32::from_le_bytes(*word);
        let sp = caller[SP]?;
        let (first, second, base, offset) = pair(word);
        let on_stack = base == SP;
        let mut load = |register: usize, at: u64| {
            if register < SP {
                caller[register] = Some(memory.word(at)?);
            }
            Some(())
        };
        match word {
            // ret, retaa, retab
            0xd65f_03c0 | 0xd65f_0bff | 0xd65f_0fff => {
                caller[32] = Some(caller[LR]?);
                return Some(());
            }
            _ if is_hint(word) => {}
            // ldp x, x, [sp, #n] and ldp x, x, [sp], #n
            _ if matches!(word & 0xffc0_0000, 0xa940_0000 | 0xa8c0_0000) && on_stack => {
                let behind = word & 0xffc0_0000 == 0xa8c0_0000;
                let at = if behind { sp } else { sp.checked_add_signed(offset)? };
                load(first, at)?;
                load(second, at.checked_add(8)?)?;
                if behind {
                    caller[SP] = Some(sp.checked_add_signed(offset)?);
                }
            }
            // ldp d, d
            _ if word & 0xffc0_0000 == 0x6d40_0000 && on_stack => {}
            _ if word & 0xffc0_0000 == 0x6cc0_0000 && on_stack => {
                caller[SP] = Some(sp.checked_add_signed(offset)?);
            }
            // ldr x, [sp, #n] and ldr x, [sp], #n; the same with d
            _ if word & 0xffc0_0000 == 0xf940_0000 && on_stack => {
                load(first, sp.checked_add(u64::from(word >> 10 & 0xfff) * 8)?)?;
            }
            _ if word & 0xffc0_0000 == 0xfd40_0000 && on_stack => {}
            _ if matches!(word & 0xffe0_0c00, 0xf840_0400 | 0xfc40_0400) && on_stack => {
                if word & 0xffe0_0c00 == 0xf840_0400 {
                    load(first, sp)?;
                }
                caller[SP] = Some(sp.checked_add_signed(small(word))?);
            }
            // add sp, sp, #n; add sp, x29, #n; sub sp, x29, #n
            _ if word & 0xff80_03ff == 0x9100_03ff => caller[SP] = Some(sp.checked_add(immediate(word))?),
            _ if word & 0xff80_03ff == 0x9100_03bf => {
                caller[SP] = Some(caller[FP]?.checked_add(immediate(word))?);
            }
            _ if word & 0xff80_03ff == 0xd100_03bf => {
                caller[SP] = Some(caller[FP]?.checked_sub(immediate(word))?);
            }
            // mov of registers and of numbers to registers that no caller keeps
            _ if (word & 0x7fe0_ffe0 == 0x2a00_03e0 || word & 0x1f80_0000 == 0x1280_0000) && first < 18 => {}
            _ => return None,
        }
    }
    None
}

/// Follows stores and subtractions from the start.
pub(super) fn prologue(code: &[u8]) -> Option<Saved> {
    let mut saved = Saved::default();
    for word in code.as_chunks::<4>().0 {
        let word = u32::from_le_bytes(*word);
        let (first, second, base, offset) = pair(word);
        let store = |register: usize, offset: u64, saved: &mut Saved| {
            if (19..SP).contains(&register) {
                saved.store(register, offset);
            }
        };
        match word {
            // stp x, x, [sp, #-n]!
            _ if word & 0xffc0_0000 == 0xa980_0000 && base == SP => {
                saved.depth += u64::try_from(-offset).ok()?;
                store(first, 0, &mut saved);
                store(second, 8, &mut saved);
            }
            _ if word & 0xffc0_0000 == 0xa900_0000 && base == SP => {
                store(first, u64::try_from(offset).ok()?, &mut saved);
                store(second, u64::try_from(offset).ok()? + 8, &mut saved);
            }
            // stp d, d, [sp, #-n]!
            _ if word & 0xffc0_0000 == 0x6d80_0000 && base == SP => {
                saved.depth += u64::try_from(-offset).ok()?;
            }
            // str x, [sp, #-n]!; the same with d
            _ if matches!(word & 0xffe0_0c00, 0xf800_0c00 | 0xfc00_0c00) && base == SP => {
                saved.depth += u64::try_from(-small(word)).ok()?;
                if word & 0xffe0_0c00 == 0xf800_0c00 {
                    store(first, 0, &mut saved);
                }
            }
            _ if word & 0xffc0_0000 == 0xf900_0000 && base == SP => {
                store(first, u64::from(word >> 10 & 0xfff) * 8, &mut saved);
            }
            // sub sp, sp, #n
            _ if word & 0xff80_03ff == 0xd100_03ff => saved.depth += immediate(word),
            // Another change of the stack pointer: add, sub, loads and stores that move it.
            _ if word & 0x1f00_001f == 0x1100_001f && word >> 29 & 1 == 0 => return None,
            _ if matches!(word & 0x3fc0_0000, 0x28c0_0000 | 0x29c0_0000 | 0x2cc0_0000 | 0x2dc0_0000)
                && base == SP =>
            {
                return None;
            }
            // bl, blr: the return address is lost, if it was not stored.
            _ if word >> 26 == 0b10_0101 || word & 0xffff_fc1f == 0xd63f_0000 => {
                saved.has(LR).then_some(())?;
                saved.branched = true;
            }
            // b, b.cond, cbz, tbz, br, ret
            _ if word >> 26 == 0b00_0101
                || word >> 24 == 0x54
                || word & 0x7c00_0000 == 0x3400_0000
                || word & 0xfe00_0000 == 0xd600_0000 =>
            {
                saved.branched = true;
            }
            _ => {}
        }
    }
    Some(saved)
}
