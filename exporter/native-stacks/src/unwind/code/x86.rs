//! Prologues and epilogues of x86-64.

use super::{MAX_EPILOGUE, Saved};
use crate::unwind::machine::Registers;
use crate::unwind::memory::Memory;

const SP: usize = 7;
const BP: usize = 6;
/// DWARF numbers of the registers in the order of the instruction set.
const NUMBERS: [usize; 8] = [0, 2, 1, 3, 7, 6, 4, 5];

/// Follows `pop`, `add rsp` and `leave` to a `ret`.
pub(super) fn epilogue(caller: &mut Registers, mut code: &[u8], memory: &Memory<'_>) -> Option<()> {
    for _ in 0..MAX_EPILOGUE {
        let sp = caller[SP]?;
        let (length, sp) = match *code {
            [0xc3, ..] | [0xf3, 0xc3, ..] | [0xc2, ..] => {
                caller[16] = Some(memory.word(sp)?);
                caller[SP] = Some(sp.checked_add(8)?);
                return Some(());
            }
            [byte @ 0x58..=0x5f, ..] => {
                let register = NUMBERS[usize::from(byte & 7)];
                let value = memory.word(sp)?;
                // `pop rsp` is nobody's epilogue.
                (register != SP).then_some(())?;
                caller[register] = Some(value);
                (1, sp.checked_add(8)?)
            }
            [0x41, byte @ 0x58..=0x5f, ..] => {
                caller[8 + usize::from(byte & 7)] = Some(memory.word(sp)?);
                (2, sp.checked_add(8)?)
            }
            [0x48, 0x83, 0xc4, value, ..] => (4, sp.wrapping_add_signed(value.cast_signed().into())),
            [0x48, 0x81, 0xc4, a, b, c, d, ..] => {
                (7, sp.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into()))
            }
            [0xc9, ..] => {
                let bp = caller[BP]?;
                caller[BP] = Some(memory.word(bp)?);
                (1, bp.checked_add(8)?)
            }
            _ => return None,
        };
        caller[SP] = Some(sp);
        code = &code[length..];
    }
    None
}

/// Follows pushes and `sub rsp` from the start. `None` at the first other instruction: nothing is known of what it does.
pub(super) fn prologue(mut code: &[u8]) -> Option<Saved> {
    let mut saved = Saved::default();
    while !code.is_empty() {
        let length = match *code {
            [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
            [byte @ 0x50..=0x57, ..] => {
                saved.push(NUMBERS[usize::from(byte & 7)], 8);
                1
            }
            [0x41, byte @ 0x50..=0x57, ..] => {
                saved.push(8 + usize::from(byte & 7), 8);
                2
            }
            // mov rbp, rsp
            [0x48, 0x89, 0xe5, ..] | [0x48, 0x8b, 0xec, ..] => 3,
            [0x48, 0x83, 0xec, value @ 0..=0x7f, ..] => {
                saved.depth += u64::from(value);
                4
            }
            [0x48, 0x81, 0xec, a, b, c, d @ 0..=0x7f, ..] => {
                saved.depth += u64::from(u32::from_le_bytes([a, b, c, d]));
                7
            }
            _ => return None,
        };
        code = code.get(length..)?;
    }
    // An argument that was pushed is no caller's register.
    saved.slots.retain(|(register, _)| matches!(register, 3 | 6 | 12..=15));
    Some(saved)
}
