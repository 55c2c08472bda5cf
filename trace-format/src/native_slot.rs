//! A slot for one capture of a thread's native stack: registers and stack bytes, stored by a signal handler.
//!
//! The region [`RegionKind::NativeStacks`] holds a few slots of [`LEN`] bytes. A capture is stored in a slot and moved from there into
//! a section ([`crate::sections::native_stack`]) by the recorder's worker; a kill between the two leaves it in the slot.
//!
//! ```text
//!   0  4  state: 0 free, 1 asked, 2 filling, 3 full, 4 abandoned (stored last)
//!   4  4  tid of the thread
//!   8  8  number of the capture in this process, from 1
//!  16  8  asked for at, BOOTTIME ns           24  8  filled at, BOOTTIME ns
//!  32  8  end of the thread's stack, or 0     40  8  stack pointer
//!  48  4  bytes of stack that follow          52  1  machine      53  1  reason
//!  54  2  flags                               56  8  number of the system call, or 2^64 - 1
//!  64 48  the system call's arguments        112  8  tid of the owner of the mutex that the thread waits for, or 0
//! 120  8  address of that mutex, or 0        128 264 registers, 33 of 8 bytes
//! 4096 ...  the stack from the stack pointer upwards, 65,536 bytes at most
//! ```
//! Registers stand in the order of their DWARF numbers, with the program counter last:
//! * x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip (System V ABI, x86-64 supplement, figure 3.36);
//! * aarch64: x0 ... x30 sp pc; arm: r0 ... r15; riscv64: x0 ... x31 pc;
//! * x86: eax ecx edx ebx esp ebp esi edi eip.
//!
//! A slot is trusted when its state is full, even if an earlier process wrote it, and its content is checked as any input is.
//!
//! [`RegionKind::NativeStacks`]: crate::layout::RegionKind::NativeStacks

use crate::UnknownNumber;

/// Length of a slot in bytes: a multiple of the smallest page.
pub const LEN: usize = STACK + MAX_STACK;
/// Where the stack bytes start: a page of its own, so that the copy of the stack starts at a page.
pub const STACK: usize = 4096;
/// The most stack bytes of a capture.
pub const MAX_STACK: usize = 64 * 1024;
/// Registers of a slot.
pub const REGISTERS: usize = 33;
/// Slots of a recording. Main, the owner of its lock, and two more threads.
pub const SLOTS: usize = 4;

/// Offsets in a slot.
pub mod at {
    #![allow(missing_docs, reason = "drawn in the module above")]
    pub const STATE: usize = 0;
    pub const TID: usize = 4;
    pub const NUMBER: usize = 8;
    pub const ASKED: usize = 16;
    pub const FILLED: usize = 24;
    pub const STACK_END: usize = 32;
    pub const SP: usize = 40;
    pub const STACK_LEN: usize = 48;
    pub const MACHINE: usize = 52;
    pub const REASON: usize = 53;
    pub const FLAGS: usize = 54;
    pub const SYSTEM_CALL: usize = 56;
    pub const ARGUMENTS: usize = 64;
    pub const OWNER: usize = 112;
    pub const MUTEX: usize = 120;
    pub const REGISTERS: usize = 128;
}

/// What a slot's state is.
pub mod state {
    /// No thread uses it.
    pub const FREE: u32 = 0;
    /// A thread was asked to fill it.
    pub const ASKED: u32 = 1;
    /// The handler fills it.
    pub const FILLING: u32 = 2;
    /// It holds a capture.
    pub const FULL: u32 = 3;
    /// The one who asked no longer waits; the handler, if it still runs, frees the slot.
    pub const ABANDONED: u32 = 4;
}

/// What a capture is like, as bits of its flags.
pub mod flags {
    /// The thread's stack is longer than what was copied.
    pub const CUT: u16 = 1;
    /// The stack pointer was outside of the thread's stack, as in a coroutine: registers only.
    pub const FOREIGN_STACK: u16 = 2;
    /// Taken without a signal, of a thread in a system call: of the registers only the program counter and the stack pointer are known.
    pub const WITHOUT_SIGNAL: u16 = 4;
    /// The stack bytes were wiped. Only in sections.
    pub const WIPED: u16 = 8;
    /// The thread runs on its alternate signal stack: another handler was interrupted. Only registers and that stack are known.
    pub const IN_HANDLER: u16 = 16;
}

/// The instruction set of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Machine {
    /// x86-64.
    X86_64 = 1,
    /// 64-bit ARM.
    Aarch64 = 2,
    /// 32-bit ARM, with Thumb: bit 0 of the program counter of Thumb code is set.
    Arm = 3,
    /// 64-bit RISC-V.
    Riscv64 = 4,
    /// 32-bit x86.
    X86 = 5,
}

impl Machine {
    /// The machine that this code runs on; `None` on one that has no number.
    pub const HERE: Option<Self> = if cfg!(target_arch = "x86_64") {
        Some(Self::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Self::Aarch64)
    } else if cfg!(target_arch = "arm") {
        Some(Self::Arm)
    } else if cfg!(target_arch = "riscv64") {
        Some(Self::Riscv64)
    } else if cfg!(target_arch = "x86") {
        Some(Self::X86)
    } else {
        None
    };

    /// How many registers a capture has; the program counter is the last of them.
    #[must_use]
    pub const fn registers(self) -> usize {
        match self {
            Self::X86_64 => 17,
            Self::Aarch64 | Self::Riscv64 => 33,
            Self::Arm => 16,
            Self::X86 => 9,
        }
    }

    /// The place of the stack pointer among the registers.
    #[must_use]
    pub const fn stack_pointer(self) -> usize {
        match self {
            Self::X86_64 => 7,
            Self::Aarch64 => 31,
            Self::Arm => 13,
            Self::Riscv64 => 2,
            Self::X86 => 4,
        }
    }
}

impl TryFrom<u8> for Machine {
    type Error = UnknownNumber;

    /// The machine with this number.
    fn try_from(number: u8) -> Result<Self, UnknownNumber> {
        [Self::X86_64, Self::Aarch64, Self::Arm, Self::Riscv64, Self::X86]
            .into_iter()
            .find(|machine| *machine as u8 == number)
            .ok_or(UnknownNumber(number.into()))
    }
}

/// Why a stack was captured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Reason {
    /// The thread's message does not end.
    Stall = 1,
    /// The system asked for a dump.
    Sigquit = 2,
    /// The thread owns the lock that a stalled thread waits for.
    LockOwner = 3,
    /// The thread missed its heartbeat.
    MissedBeat = 4,
    /// The app asked.
    Asked = 5,
}

impl TryFrom<u8> for Reason {
    type Error = UnknownNumber;

    /// The reason with this number.
    fn try_from(number: u8) -> Result<Self, UnknownNumber> {
        [Self::Stall, Self::Sigquit, Self::LockOwner, Self::MissedBeat, Self::Asked]
            .into_iter()
            .find(|reason| *reason as u8 == number)
            .ok_or(UnknownNumber(number.into()))
    }
}
