//! What the machine code itself says, where no table does: signal frames, stubs, calls, prologues and epilogues.

mod aarch64;
mod arm;
mod x86;

use trace_format::native_slot::Machine;

use super::elf::Elf;
use super::machine::{Convention, Registers};
use super::memory::Memory;

/// The most bytes of a function that are followed to the program counter.
const MAX_PROLOGUE: u64 = 16 << 10;
/// The most instructions of an epilogue.
const MAX_EPILOGUE: usize = 24;

/// Where a function has saved its caller's registers, from its start on: offsets below the stack pointer at the start.
#[derive(Debug, Default)]
struct Saved {
    /// How far the stack pointer is below its value at the start.
    depth: u64,
    /// A register and how far below it is stored.
    slots: Vec<(usize, u64)>,
    /// Whether a branch was passed: what follows may have been reached another way.
    branched: bool,
}

impl Saved {
    /// Whether this register was stored.
    fn has(&self, register: usize) -> bool {
        self.slots.iter().any(|(known, _)| *known == register)
    }

    /// Stored below the stack pointer, which moves there. Of a register that is stored twice the first place counts.
    fn push(&mut self, register: usize, word: u64) {
        self.depth += word;
        if !self.has(register) {
            self.slots.push((register, self.depth));
        }
    }

    /// Stored this far above the stack pointer.
    fn store(&mut self, register: usize, offset: u64) {
        if let Some(below) = self.depth.checked_sub(offset)
            && !self.has(register)
        {
            self.slots.push((register, below));
        }
    }
}

/// The machine code from an address on; `None` where no file has it.
pub(super) type Code<'s, 'c> = &'s dyn Fn(u64) -> Option<&'c [u8]>;

/// Where a thread was interrupted.
#[derive(Clone, Copy)]
pub(super) struct Site<'s, 'c> {
    pub(super) convention: &'s Convention,
    pub(super) registers: &'s Registers,
    pub(super) pc: u64,
    /// Whether the code is Thumb.
    pub(super) thumb: bool,
    pub(super) memory: Memory<'s>,
    pub(super) code: Code<'s, 'c>,
}

/// The caller's registers of a thread that a signal interrupted, if the code is the return from its handler. Without the code, what the
/// kernel stores beside the registers must be there.
pub(super) fn signal_frame(
    convention: &Convention,
    registers: &Registers,
    code: Option<&[u8]>,
    memory: &Memory<'_>,
) -> Option<Registers> {
    let sp = registers[convention.sp]?;
    let starts =
        |patterns: &[&[u8]]| code.is_none_or(|code| patterns.iter().any(|pattern| code.starts_with(pattern)));
    let mut found: Registers = [None; _];
    let mut take = |first: u64, order: &mut dyn Iterator<Item = usize>| {
        for (i, register) in order.enumerate() {
            found[register] = memory.word(first.checked_add(convention.word * i as u64)?);
        }
        Some(())
    };
    let at = |offset: u64| sp.checked_add(offset);
    let is_signal = |at: u64| memory.number(at, 4).is_some_and(|signal| (1..=64).contains(&signal));
    match convention.machine {
        Machine::X86_64 => {
            // mov rax, 15; syscall
            if !starts(&[&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 5], &[0xb8, 15, 0, 0, 0, 0x0f, 5]]) {
                return None;
            }
            // struct ucontext of the kernel: flags, link, stack, then r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, and cs.
            if code.is_none() && (memory.number(at(184)?, 2)? != 0x33 || memory.word(at(8)?)? != 0) {
                return None;
            }
            take(at(40)?, &mut [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16].into_iter())?;
        }
        Machine::Aarch64 => {
            // mov x8, 139; svc 0
            if !starts(&[&[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4]]) || !is_signal(sp) {
                return None;
            }
            // siginfo of 128 bytes, ucontext with the machine's part at 176: fault address, x0 to x30, sp, pc, and FPSIMD's mark at 288.
            if code.is_none() && memory.number(at(592)?, 4)? != 0x4650_8001 {
                return None;
            }
            take(at(312)?, &mut (0..33))?;
        }
        Machine::Riscv64 => {
            // li a7, 139; ecall
            if !starts(&[&[0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0]]) || !is_signal(sp) || code.is_none() {
                return None;
            }
            take(at(304)?, &mut std::iter::once(32).chain(1..32))?;
        }
        Machine::Arm => {
            // mov r7, 173; svc 0, in ARM and in Thumb; or 119 with the older form, which has no siginfo.
            let is_new = starts(&[
                &[0xad, 0x70, 0xa0, 0xe3],
                &[0xad, 0x27, 0x00, 0xdf],
                &[0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf],
            ]) && is_signal(sp);
            let is_old = code.is_some()
                && starts(&[
                    &[0x77, 0x70, 0xa0, 0xe3],
                    &[0x77, 0x27, 0x00, 0xdf],
                    &[0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf],
                ]);
            let first = match (is_new, is_old) {
                (true, _) => 160,
                (_, true) => 32,
                _ => return None,
            };
            // Behind the registers stands the status word: user mode.
            let status = memory.word(at(first + 64)?)?;
            if status & 0x1f != 0x10 {
                return None;
            }
            take(at(first)?, &mut (0..16))?;
            // Its bit 5 tells Thumb code.
            found[15] = found[15].map(|pc| pc | status >> 5 & 1);
        }
        Machine::X86 => return None,
    }
    (found[convention.pc].is_some() && found[convention.sp].is_some()).then_some(found)
}

/// The caller's registers as a frame record has them: of the others none is known.
pub(super) fn frame_record(convention: &Convention, fp: u64, memory: &Memory<'_>) -> Option<Registers> {
    let word = convention.word;
    // On RISC-V the frame pointer points behind the record.
    let record = if convention.machine == Machine::Riscv64 { fp.checked_sub(2 * word)? } else { fp };
    let mut caller: Registers = [None; _];
    caller[convention.fp] = Some(memory.word(record)?);
    caller[convention.pc] = Some(memory.word(record.checked_add(word)?)?);
    caller[convention.sp] = Some(record.checked_add(2 * word)?);
    Some(caller)
}

/// The caller of a stub that jumps to another file's function; `address` is its own file's.
pub(super) fn stub(site: &Site<'_, '_>, elf: &Elf, address: u64) -> Option<Registers> {
    let Site { convention, registers, memory, .. } = *site;
    let plt = elf.plt.iter().find(|plt| plt.contains(&address))?;
    let code = elf.load(address)?;
    let inside = address - plt.start;
    let sp = registers[convention.sp]?;
    // The first stub is jumped to by the others, and stores the return address.
    let (depth, stored) = match convention.machine {
        Machine::X86_64 => match code {
            [0xff, 0x35, ..] => (8, true),
            [0xff, 0x25, ..] if (1..16).contains(&inside) => (16, true),
            [0xe9, ..] | [0xf2, 0xe9, ..] => (8, true),
            _ => (0, true),
        },
        Machine::Aarch64
            if (1..32).contains(&inside)
                && elf.load(plt.start)?.starts_with(&0xa9bf_7bf0_u32.to_le_bytes()) =>
        {
            (8, true)
        }
        Machine::Arm
            if (1..20).contains(&inside)
                && elf.load(plt.start)?.starts_with(&0xe52d_e004_u32.to_le_bytes()) =>
        {
            (0, true)
        }
        Machine::X86 => return None,
        _ => (0, false),
    };
    let mut caller = *registers;
    let address = if stored {
        let at = sp.checked_add(depth)?;
        caller[convention.sp] = Some(at.checked_add(convention.word)?);
        memory.word(at)?
    } else {
        registers[convention.link?]?
    };
    caller[convention.pc] = Some(address);
    if let Some(link) = convention.link {
        caller[link] = None;
    }
    Some(caller)
}

/// Whether a call stands before this address; `true` if its code is not known.
pub(super) fn follows_call(convention: &Convention, address: u64, code: Code<'_, '_>) -> bool {
    let before = |length: u64| {
        let code = code(address.wrapping_sub(length))?;
        code.get(..usize::try_from(length).ok()?)
    };
    let number = |length: u64| {
        let mut bytes = [0; 4];
        let known = before(length)?;
        bytes[..known.len()].copy_from_slice(known);
        Some(u32::from_le_bytes(bytes))
    };
    if before(1).is_none() {
        return true;
    }
    match convention.machine {
        Machine::X86_64 | Machine::X86 => {
            let is_indirect = |code: &[u8]| code[0] == 0xff && code[1] >> 3 & 7 == 2;
            before(5).is_some_and(|code| code[0] == 0xe8)
                || (2..=7).any(|length| {
                    before(length).is_some_and(|code| {
                        is_indirect(code) || (code[0] & 0xf0 == 0x40 && length > 2 && is_indirect(&code[1..]))
                    })
                })
        }
        Machine::Aarch64 => number(4).is_some_and(|code| {
            code >> 26 == 0b10_0101 || code & 0xffff_fc1f == 0xd63f_0000 || code & 0xfeff_f800 == 0xd63f_0800
        }),
        Machine::Arm => {
            number(4).is_some_and(|code| {
                let is_arm = code & 0x0f00_0000 == 0x0b00_0000
                    || code & 0xfe00_0000 == 0xfa00_0000
                    || code & 0x0fff_fff0 == 0x012f_ff30;
                is_arm || code & 0xc000_f800 == 0xc000_f000
            }) || number(2).is_some_and(|code| code & 0xff87 == 0x4780)
        }
        Machine::Riscv64 => {
            number(4).is_some_and(|code| matches!(code & 0xfff, 0x0ef | 0x0e7))
                || number(2).is_some_and(|code| code & 0xf07f == 0x9002 && code & 0xf80 != 0)
        }
    }
}

/// The address that the call before this address leads to, if it is part of the instruction.
pub(super) fn calls(convention: &Convention, address: u64, code: Code<'_, '_>) -> Option<u64> {
    match convention.machine {
        Machine::X86_64 | Machine::X86 => {
            let [0xe8, offset @ ..] = code(address.checked_sub(5)?)?.first_chunk::<5>()? else { return None };
            Some(convention.cut(address.wrapping_add_signed(i32::from_le_bytes(*offset).into())))
        }
        Machine::Aarch64 => {
            let at = address.checked_sub(4)?;
            let word = u32::from_le_bytes(*code(at)?.first_chunk()?);
            let offset = i64::from((word << 6).cast_signed() >> 6) * 4;
            (word >> 26 == 0b10_0101).then(|| at.wrapping_add_signed(offset))
        }
        Machine::Arm => arm::calls(address, code),
        Machine::Riscv64 => None,
    }
}

/// The caller of a function that is about to return: its instructions from the program counter to the return, followed.
pub(super) fn epilogue(site: &Site<'_, '_>, code: &[u8]) -> Option<Registers> {
    let Site { convention, registers, thumb, memory, .. } = *site;
    let mut caller = *registers;
    match convention.machine {
        Machine::X86_64 => x86::epilogue(&mut caller, code, &memory),
        Machine::Aarch64 => aarch64::epilogue(&mut caller, code, &memory),
        Machine::Arm => arm::epilogue(&mut caller, code, thumb, &memory),
        Machine::Riscv64 | Machine::X86 => None,
    }?;
    let mut kept = convention.kept(&caller);
    for register in [convention.sp, convention.pc] {
        kept[register] = caller[register];
    }
    Some(kept)
}

/// Where the function at `pc` starts to store what its caller keeps, of a function without a symbol: the nearest place before that
/// stores the return address, if no function ends between.
pub(super) fn start_before(site: &Site<'_, '_>) -> Option<u64> {
    match site.convention.machine {
        Machine::Arm => arm::start_before(site.pc, site.thumb, site.code),
        _ => None,
    }
}

/// The caller of a function that was interrupted at `pc` on the straight way from its start. Past a branch only where nothing is known
/// of the function otherwise (`whole`), and not past a call that would have overwritten the return address.
pub(super) fn prologue(site: &Site<'_, '_>, start: Option<u64>, whole: bool) -> Option<Registers> {
    let Site { convention, registers, pc, thumb, memory, code } = *site;
    let start = start.filter(|start| *start <= pc && pc - *start <= MAX_PROLOGUE)?;
    let code = code(start)?.get(..usize::try_from(pc - start).ok()?)?;
    let saved = match convention.machine {
        Machine::X86_64 => x86::prologue(code),
        Machine::Aarch64 => aarch64::prologue(code),
        Machine::Arm => arm::prologue(code, thumb),
        Machine::Riscv64 | Machine::X86 => None,
    }?;
    if saved.branched && !whole {
        return None;
    }
    let start_sp = registers[convention.sp]?.checked_add(saved.depth)?;
    let mut caller = convention.kept(registers);
    for (register, below) in &saved.slots {
        caller[*register] = memory.word(start_sp.checked_sub(*below)?);
    }
    let address = match convention.link {
        Some(link) if saved.has(link) => caller[link],
        Some(link) => registers[link],
        None => memory.word(start_sp),
    }?;
    if let Some(link) = convention.link {
        caller[link] = None;
    }
    let pushed = if convention.link.is_none() { convention.word } else { 0 };
    caller[convention.sp] = Some(start_sp.checked_add(pushed)?);
    caller[convention.pc] = Some(address);
    Some(caller)
}
