//! Prologues and epilogues of 32-bit ARM and of Thumb.

use super::{Code, MAX_EPILOGUE, Saved};
use crate::unwind::machine::Registers;
use crate::unwind::machine::arm::{LR, PC, SP};
use crate::unwind::memory::Memory;

/// How far before the program counter a function's start is looked for, in bytes.
const MAX_BEFORE: u64 = 4096;

/// What an instruction does to the stack.
enum Op {
    /// Nothing that matters.
    None,
    /// Stores these registers, as bits, below the stack pointer.
    Push(u32),
    /// Loads these registers.
    Pop(u32),
    /// Adds to the stack pointer.
    Move(i64),
    /// Sets the stack pointer to a register and a number.
    From(usize, i64),
    /// Adds to a register.
    Add(usize, i64),
    /// Loads one register, and adds to the stack pointer.
    Load(usize, i64),
    /// Returns to the link register.
    Return,
    /// A call.
    Call,
    /// A branch.
    Branch,
    /// A branch that its table may follow, which is no code.
    Table,
    /// Something else that changes the stack pointer.
    Other,
}

/// Reads an ARM instruction.
fn arm(word: u32) -> Op {
    let immediate = || i64::from((word & 0xff).rotate_right((word >> 8 & 15) * 2));
    let doubles = || i64::from(word & 0xff) * 4;
    match word {
        _ if word & 0xffff_0000 == 0xe92d_0000 => Op::Push(word & 0xffff),
        _ if word & 0xffff_0fff == 0xe52d_0004 => Op::Push(1 << (word >> 12 & 15)),
        _ if word & 0xffff_0000 == 0xe8bd_0000 => Op::Pop(word & 0xffff),
        _ if word & 0xffff_0000 == 0xe49d_0000 => {
            Op::Load((word >> 12 & 15) as usize, i64::from(word & 0xfff))
        }
        _ if word & 0xffff_f000 == 0xe24d_d000 => Op::Move(-immediate()),
        _ if word & 0xffff_f000 == 0xe28d_d000 => Op::Move(immediate()),
        _ if word & 0xfff0_f000 == 0xe240_d000 => Op::From((word >> 16 & 15) as usize, -immediate()),
        _ if word & 0xfff0_f000 == 0xe280_d000 => Op::From((word >> 16 & 15) as usize, immediate()),
        _ if word & 0xffff_fff0 == 0xe1a0_d000 => Op::From((word & 15) as usize, 0),
        _ if word & 0xffbf_0f00 == 0xed2d_0b00 => Op::Move(-doubles()),
        _ if word & 0xffbf_0f00 == 0xecbd_0b00 => Op::Move(doubles()),
        0xe12f_ff1e | 0xe1a0_f00e => Op::Return,
        _ if word & 0x0f00_0000 == 0x0b00_0000 || word & 0xfe00_0000 == 0xfa00_0000 => Op::Call,
        _ if word & 0x0fff_fff0 == 0x012f_ff30 => Op::Call,
        _ if word & 0x0f00_0000 == 0x0a00_0000 || word & 0x0fff_fff0 == 0x012f_ff10 => Op::Branch,
        // Loads of the program counter, and conditional forms of all of this.
        _ if word & 0x0c10_f000 == 0x0410_f000 || word & 0x0e10_8000 == 0x0810_8000 => Op::Branch,
        _ if word & 0x0c00_f000 == 0x0000_d000 && word & 0x0e00_0090 != 0x0000_0090 => Op::Other,
        // Loads and stores that move the stack pointer.
        _ if word & 0x0c2f_0000 == 0x042d_0000 || word & 0x0d2d_0000 == 0x092d_0000 => Op::Other,
        _ => Op::None,
    }
}

/// Reads a Thumb instruction and its length.
fn thumb(code: &[u8]) -> Option<(Op, usize)> {
    let half = |at: usize| Some(u32::from(u16::from_le_bytes(*code.get(at..)?.first_chunk()?)));
    let first = half(0)?;
    if first < 0xe800 {
        let op = match first {
            0x4770 => Op::Return,
            _ if first & 0xfe00 == 0xb400 => Op::Push(first & 0xff | (first >> 8 & 1) << LR),
            _ if first & 0xfe00 == 0xbc00 => Op::Pop(first & 0xff | (first >> 8 & 1) << PC),
            _ if first & 0xff80 == 0xb080 => Op::Move(-i64::from(first & 0x7f) * 4),
            _ if first & 0xff80 == 0xb000 => Op::Move(i64::from(first & 0x7f) * 4),
            _ if first & 0xff87 == 0x4685 => Op::From((first >> 3 & 15) as usize, 0),
            _ if first & 0xff87 == 0x4485 => Op::Other,
            _ if first & 0xf800 == 0x3000 => Op::Add((first >> 8 & 7) as usize, i64::from(first & 0xff)),
            _ if first & 0xff87 == 0x4780 => Op::Call,
            // bx, b, cbz, and conditional branches; 0xde and 0xdf are no branches
            _ if first & 0xff00 == 0x4700 || first & 0xf800 == 0xe000 || first & 0xf500 == 0xb100 => {
                Op::Branch
            }
            _ if first & 0xf000 == 0xd000 && first & 0xfe00 != 0xde00 => Op::Branch,
            _ => Op::None,
        };
        return Some((op, 2));
    }
    let word = first << 16 | half(2)?;
    let plain = || (word >> 26 & 1) << 11 | (word >> 12 & 7) << 8 | word & 0xff;
    let immediate = || {
        let coded = plain();
        i64::from(match coded >> 8 {
            0 => coded,
            1 => (coded & 0xff) << 16 | coded & 0xff,
            2 => (coded & 0xff) << 24 | (coded & 0xff) << 8,
            3 => (coded & 0xff) * 0x0101_0101,
            _ => (coded & 0x7f | 0x80).rotate_right(coded >> 7),
        })
    };
    let op = match word {
        _ if word & 0xffff_0000 == 0xe92d_0000 => Op::Push(word & 0xffff),
        _ if word & 0xffff_0fff == 0xf84d_0d04 => Op::Push(1 << (word >> 12 & 15)),
        _ if word & 0xffff_0000 == 0xe8bd_0000 => Op::Pop(word & 0xffff),
        _ if word & 0xffff_0f00 == 0xf85d_0b00 => {
            Op::Load((word >> 12 & 15) as usize, i64::from(word & 0xff))
        }
        _ if word & 0xfbef_8f00 == 0xf1ad_0d00 => Op::Move(-immediate()),
        _ if word & 0xfbff_8f00 == 0xf2ad_0d00 => Op::Move(-i64::from(plain())),
        _ if word & 0xfbef_8f00 == 0xf10d_0d00 => Op::Move(immediate()),
        _ if word & 0xfbff_8f00 == 0xf20d_0d00 => Op::Move(i64::from(plain())),
        _ if word & 0xffbf_0f00 == 0xed2d_0b00 => Op::Move(-i64::from(word & 0xff) * 4),
        _ if word & 0xffbf_0f00 == 0xecbd_0b00 => Op::Move(i64::from(word & 0xff) * 4),
        _ if word & 0xf800_d000 == 0xf000_d000 || word & 0xf800_d000 == 0xf000_c000 => Op::Call,
        _ if word & 0xf800_8000 == 0xf000_8000 && word & 0xfff0_0000 < 0xf380_0000 => Op::Branch,
        // Loads of the program counter, table branches.
        _ if word & 0xff7f_f000 == 0xf85f_f000
            || word & 0xfff0_f000 == 0xf8d0_f000
            || word & 0xfff0_ffe0 == 0xe8d0_f000 =>
        {
            Op::Table
        }
        _ if word & 0xfa00_8f00 == 0xf000_0d00 || word & 0xfe00_0f00 == 0xea00_0d00 => Op::Other,
        _ => Op::None,
    };
    Some((op, 4))
}

fn next(code: &[u8], is_thumb: bool) -> Option<(Op, usize)> {
    if is_thumb { thumb(code) } else { Some((arm(u32::from_le_bytes(*code.first_chunk()?)), 4)) }
}

/// Whether an instruction computes only in registers that no caller keeps.
fn is_harmless(code: &[u8], is_thumb: bool) -> bool {
    if is_thumb {
        let Some(first) = code.first_chunk() else { return false };
        let first = u32::from(u16::from_le_bytes(*first));
        // mov low, any; movs low, #n; nop
        return (first & 0xff00 == 0x4600 && first & 0x87 < 4)
            || (first & 0xf800 == 0x2000 && first & 0x700 < 0x400)
            || first == 0xbf00;
    }
    let Some(word) = code.first_chunk() else { return false };
    let word = u32::from_le_bytes(*word);
    // mov r0 to r3, any or #n; nop
    (matches!(word & 0xfdff_0000, 0xe1a0_0000 | 0xe3a0_0000 | 0xe1e0_0000) && word & 0xf000 < 0x4000)
        || word == 0xe320_f000
}

/// Follows loads and additions to a return.
pub(super) fn epilogue(
    caller: &mut Registers,
    mut code: &[u8],
    is_thumb: bool,
    memory: &Memory<'_>,
) -> Option<()> {
    for _ in 0..MAX_EPILOGUE {
        let (op, length) = next(code, is_thumb)?;
        let mut sp = caller[SP]?;
        match op {
            Op::Return => {
                caller[PC] = Some(caller[LR]?);
                return Some(());
            }
            Op::Pop(mask) => {
                for register in (0..16).filter(|register| mask >> register & 1 == 1 && *register != SP) {
                    caller[register] = Some(memory.word(sp)?);
                    sp += 4;
                }
            }
            Op::Load(register, offset) => {
                caller[register] = Some(memory.word(sp)?);
                sp = sp.checked_add_signed(offset)?;
            }
            Op::Move(offset) => sp = sp.checked_add_signed(offset)?,
            Op::From(register, offset) => sp = caller[register]?.checked_add_signed(offset)?,
            Op::Add(register, offset) => {
                caller[register] = Some(caller[register]?.checked_add_signed(offset)?)
            }
            Op::None if is_harmless(code, is_thumb) => {}
            _ => return None,
        }
        caller[SP] = Some(sp);
        if matches!(op, Op::Pop(mask) if mask >> PC & 1 == 1) || matches!(op, Op::Load(PC, _)) {
            return Some(());
        }
        code = code.get(length..)?;
    }
    None
}

/// The address that the call before this return address leads to: `bl` and `blx` with an offset.
pub(super) fn calls(address: u64, code: Code<'_, '_>) -> Option<u64> {
    let behind = address & !1;
    let at = behind.checked_sub(4)?;
    let bytes: [u8; 4] = *code(at)?.first_chunk()?;
    // An offset of so many bits, from the program counter of the instruction.
    let to = |from: u64, offset: u32, bits: u32| {
        let offset = (offset << (32 - bits)).cast_signed() >> (32 - bits);
        Some(from.wrapping_add_signed(offset.into()) & 0xffff_ffff)
    };
    if address & 1 == 1 {
        let [first, second] =
            [[bytes[0], bytes[1]], [bytes[2], bytes[3]]].map(u16::from_le_bytes).map(u32::from);
        if first & 0xf800 != 0xf000 || second & 0xc000 != 0xc000 {
            return None;
        }
        let sign = first >> 10 & 1;
        let bit = |shift: u32| !(second >> shift ^ sign) & 1;
        let offset =
            sign << 24 | bit(13) << 23 | bit(11) << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
        // blx leads to ARM code, whose addresses are multiples of 4.
        return if second >> 12 & 1 == 1 { to(behind, offset, 25) } else { to(behind & !3, offset & !3, 25) };
    }
    let word = u32::from_le_bytes(bytes);
    match word {
        _ if word & 0xfe00_0000 == 0xfa00_0000 => to(at + 8, (word & 0xff_ffff) << 2 | word >> 23 & 2, 26),
        _ if word & 0x0f00_0000 == 0x0b00_0000 => to(at + 8, (word & 0xff_ffff) << 2, 26),
        _ => None,
    }
}

/// The nearest instruction before `pc` that stores the return address.
pub(super) fn start_before(pc: u64, is_thumb: bool, code: Code<'_, '_>) -> Option<u64> {
    let step = if is_thumb { 2 } else { 4 };
    let mut at = pc;
    while pc - at < MAX_BEFORE {
        at = at.checked_sub(step)?;
        if let Some((Op::Push(mask), _)) = next(code(at)?, is_thumb)
            && mask >> LR & 1 == 1
        {
            return Some(at);
        }
    }
    None
}

/// Follows stores and subtractions from the start.
pub(super) fn prologue(mut code: &[u8], is_thumb: bool) -> Option<Saved> {
    let mut saved = Saved::default();
    // What stands behind a return was jumped to from where all was stored.
    let mut deepest = 0;
    while !code.is_empty() {
        let (op, length) = next(code, is_thumb)?;
        match op {
            Op::Pop(mask) if mask >> PC & 1 == 1 => {
                saved.depth = deepest;
                saved.branched = true;
            }
            Op::None | Op::Add(..) => {}
            Op::Push(mask) => {
                for register in (0..16).rev().filter(|register| mask >> register & 1 == 1) {
                    saved.push(register, 4);
                }
            }
            Op::Move(offset) => saved.depth = saved.depth.checked_add_signed(-offset)?,
            Op::Call => {
                // The return address is lost, if it was not stored.
                saved.has(LR).then_some(())?;
                saved.branched = true;
            }
            Op::Return => {
                saved.depth = deepest;
                saved.branched = true;
            }
            Op::Branch => saved.branched = true,
            Op::Table => {
                saved.branched = true;
                break;
            }
            Op::Pop(_) | Op::Load(..) | Op::From(..) | Op::Other => return None,
        }
        deepest = deepest.max(saved.depth);
        code = code.get(length..)?;
    }
    // Arguments that were stored are no caller's registers.
    saved.slots.retain(|(register, _)| matches!(register, 4..=11 | 14));
    Some(saved)
}
