//! What an instruction set's calling convention means for unwinding.

use trace_format::native_slot::{Machine, REGISTERS};

/// The registers of 32-bit ARM that have a role of their own, by their DWARF numbers.
pub(super) mod arm {
    use trace_format::native_slot::Machine;

    pub(in crate::unwind) const SP: usize = Machine::Arm.stack_pointer();
    pub(in crate::unwind) const LR: usize = 14;
    pub(in crate::unwind) const PC: usize = Machine::Arm.registers() - 1;
}

/// Registers at one frame, in DWARF order; `None` is unknown. The last one of a machine is the program counter.
pub(super) type Registers = [Option<u64>; REGISTERS];

/// The registers of a machine by their roles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Convention {
    pub(super) machine: Machine,
    /// Bytes of a word.
    pub(super) word: u64,
    pub(super) pc: usize,
    pub(super) sp: usize,
    /// The frame pointer.
    pub(super) fp: usize,
    /// The register that holds the return address at a function's start; `None` where a call pushes it.
    pub(super) link: Option<usize>,
    /// Registers that a function restores before it returns, as bits.
    saved: u64,
}

const fn bits(ranges: &[(u32, u32)]) -> u64 {
    let mut all = 0;
    let mut i = 0;
    while i < ranges.len() {
        let (first, last) = ranges[i];
        all |= ((1 << (last - first + 1)) - 1) << first;
        i += 1;
    }
    all
}

impl Convention {
    pub(super) fn of(machine: Machine) -> Self {
        let pc = machine.registers() - 1;
        let sp = machine.stack_pointer();
        let (word, fp, link, saved) = match machine {
            Machine::X86_64 => (8, 6, None, bits(&[(3, 3), (6, 6), (12, 15)])),
            // x18 is the platform's.
            Machine::Aarch64 => (8, 29, Some(30), bits(&[(18, 29)])),
            Machine::Arm => (4, 11, Some(arm::LR), bits(&[(4, 11)])),
            Machine::Riscv64 => (8, 8, Some(1), bits(&[(3, 4), (8, 9), (18, 27)])),
            Machine::X86 => (4, 5, None, bits(&[(3, 3), (5, 7)])),
        };
        Self { machine, word, pc, sp, fp, link, saved }
    }

    /// The registers that a function keeps for its caller, without the others.
    pub(super) fn kept(&self, registers: &Registers) -> Registers {
        std::array::from_fn(|register| registers[register].filter(|_| self.saved >> register & 1 == 1))
    }

    /// An address, cut to this machine's width.
    pub(super) fn cut(&self, address: u64) -> u64 {
        if self.word == 4 { address & 0xffff_ffff } else { address }
    }
}
