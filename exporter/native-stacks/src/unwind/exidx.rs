//! 32-bit ARM's own unwind tables: `.ARM.exidx` and `.ARM.extab` (Exception Handling ABI for the Arm Architecture, IHI 0038).

use super::elf::Elf;
use super::machine::arm::{LR, PC, SP};
use super::machine::{Convention, Registers};
use super::memory::Memory;
use crate::unwind::cfi::{NoCaller, Step};

/// What the index says of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Nothing is unwound through it.
    CantUnwind,
    /// Instructions.
    Instructions(Vec<u8>),
}

/// The entry for an address and its first function's address: the index has no ends, each entry holds until the next one.
pub(super) fn find(elf: &Elf, address: u64) -> Option<(u64, Entry)> {
    let part = elf.exidx.as_ref()?;
    let bytes = part.bytes();
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let function = |i: usize| Some(prel31(word(8 * i)?, part.address + 8 * i as u64));
    let (mut low, mut high) = (0, bytes.len() / 8);
    while low < high {
        let middle = low.midpoint(high);
        if function(middle)? <= address { low = middle + 1 } else { high = middle }
    }
    let i = low.checked_sub(1)?;
    let second = word(8 * i + 4)?;
    let at = part.address + 8 * i as u64 + 4;
    let entry = if second == 1 || second >> 31 == 1 {
        entry(&second.to_le_bytes())
    } else {
        entry(elf.load(prel31(second, at))?)
    };
    Some((function(i)?, entry?))
}

/// An offset of 31 bits from its own place.
fn prel31(word: u32, place: u64) -> u64 {
    let offset = i64::from((word << 1).cast_signed() >> 1);
    place.wrapping_add_signed(offset) & 0xffff_ffff
}

/// Reads the second word of an entry, or the table that it leads to.
pub(super) fn entry(bytes: &[u8]) -> Option<Entry> {
    let word = |i: usize| Some(u32::from_le_bytes(bytes.get(4 * i..4 * i + 4)?.try_into().ok()?));
    let first = word(0)?;
    // The words that follow, and which bytes of the one that announces them are instructions.
    let (at, more, own) = match (first, first >> 31, first >> 24 & 15) {
        (1, ..) => return Some(Entry::CantUnwind),
        (_, 1, 0) => (0, 0, 3),
        (_, 1, 1 | 2) => (0, first >> 16 & 0xff, 2),
        (_, 1, _) => return None,
        // A language's own routine, whose data starts in the same way.
        _ => (1, word(1)? >> 24, 3),
    };
    let mut instructions = word(at)?.to_be_bytes()[4 - own..].to_vec();
    for i in 0..more as usize {
        instructions.extend(word(at + 1 + i)?.to_be_bytes());
    }
    Some(Entry::Instructions(instructions))
}

/// Follows the instructions.
pub(super) fn step(
    instructions: &[u8],
    convention: &Convention,
    registers: &Registers,
    memory: &Memory<'_>,
    returned: bool,
) -> Step {
    let mut caller = convention.kept(registers);
    if !returned {
        caller[LR] = registers[LR];
    }
    let mut vsp = registers[SP].ok_or(NoCaller::Unknown(SP))?;
    let mut pc = None;
    let mut bytes = instructions.iter().copied();
    while let Some(first) = bytes.next() {
        let mut next = || bytes.next().ok_or(NoCaller::Broken);
        let low = u64::from(first & 15);
        let mut pop = |mask: u64, vsp: &mut u64| {
            let mut new = None;
            for register in (0..16).filter(|register| mask >> register & 1 == 1) {
                let value = memory.word(*vsp).ok_or(NoCaller::NotCopied(*vsp))?;
                match register {
                    SP => new = Some(value),
                    PC => pc = Some(value),
                    _ => caller[register] = Some(value),
                }
                *vsp += 4;
            }
            *vsp = new.unwrap_or(*vsp);
            Ok(())
        };
        match first {
            0x00..=0x3f => vsp = vsp.wrapping_add((u64::from(first & 0x3f) << 2) + 4),
            0x40..=0x7f => vsp = vsp.wrapping_sub((u64::from(first & 0x3f) << 2) + 4),
            0x80..=0x8f => {
                let mask = low << 8 | u64::from(next()?);
                if mask == 0 {
                    return Err(NoCaller::Broken);
                }
                pop(mask << 4, &mut vsp)?;
            }
            0x9d | 0x9f => return Err(NoCaller::Broken),
            0x90..=0x9e => {
                // Registers that were restored before this instruction count.
                let register = usize::from(first & 15);
                vsp = caller[register].or(registers[register]).ok_or(NoCaller::Unknown(register))?;
            }
            0xa0..=0xaf => {
                let mask = (1 << ((low & 7) + 1)) - 1;
                pop(mask << 4 | u64::from(first & 8 != 0) << LR, &mut vsp)?;
            }
            0xb0 => break,
            0xb1 => match next()? {
                mask @ 1..=15 => pop(mask.into(), &mut vsp)?,
                _ => return Err(NoCaller::Broken),
            },
            0xb2 => {
                let (mut value, mut shift) = (0u64, 0);
                loop {
                    let byte = next()?;
                    value |= u64::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte & 0x80 == 0 {
                        break;
                    }
                    if shift > 28 {
                        return Err(NoCaller::Broken);
                    }
                }
                vsp = vsp.wrapping_add(0x204 + (value << 2));
            }
            0xb3 => vsp += (u64::from(next()? & 15) + 1) * 8 + 4,
            // The code that signs the return address, and the place that it is signed for.
            0xb4 => vsp += 4,
            0xb5 => {}
            0xb8..=0xbf => vsp += (u64::from(first & 7) + 1) * 8 + 4,
            0xc0..=0xc5 | 0xd0..=0xd7 => vsp += (u64::from(first & 7) + 1) * 8,
            0xc6 | 0xc8 | 0xc9 => vsp += (u64::from(next()? & 15) + 1) * 8,
            0xc7 => match next()? {
                mask @ 1..=15 => vsp += 4 * u64::from(mask.count_ones()),
                _ => return Err(NoCaller::Broken),
            },
            _ => return Err(NoCaller::Broken),
        }
        vsp &= 0xffff_ffff;
    }
    let pc = match pc.or(caller[LR]) {
        Some(pc) => pc,
        None if returned => return Err(NoCaller::Broken),
        None => return Err(NoCaller::Unknown(LR)),
    };
    caller[LR] = None;
    caller[SP] = Some(vsp);
    caller[PC] = Some(pc);
    Ok((caller, false))
}
