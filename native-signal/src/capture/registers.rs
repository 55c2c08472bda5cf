//! The registers in a signal's context, and the thread pointer.

use core::arch::asm;
use libc::{mcontext_t, ucontext_t};

/// Stores the registers in the order of [`trace_format::native_slot`] and returns the stack pointer.
///
/// # Safety
///
/// `context` is a signal's context, and `to` has room for 33 numbers of 8 bytes.
#[inline(always)]
pub(super) unsafe fn store(context: *const ucontext_t, to: *mut u64) -> usize {
    // SAFETY: by contract.
    let machine = unsafe { &(*context).uc_mcontext };
    let put = |at: usize, value: u64| {
        // SAFETY: by contract; every `at` below is less than 33.
        unsafe { to.wrapping_add(at).write_volatile(value) }
    };
    put_all(machine, put)
}

/// The address of the thread's control block.
#[inline(always)]
pub(super) fn thread_pointer() -> usize {
    let own: usize;
    // SAFETY: a read of the register that has the address, which every CPU of the architecture has (on ARM from
    // version 6 on). On x86 it is the first word of the control block instead, which is its own address (System V ABI,
    // thread-local storage).
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, fs:[0]", out(reg) own, options(nostack, preserves_flags, readonly));
        #[cfg(target_arch = "x86")]
        asm!("mov {}, gs:[0]", out(reg) own, options(nostack, preserves_flags, readonly));
        #[cfg(target_arch = "aarch64")]
        asm!("mrs {}, tpidr_el0", out(reg) own, options(nostack, preserves_flags, nomem));
        #[cfg(target_arch = "arm")]
        asm!("mrc p15, 0, {}, c13, c0, 3", out(reg) own, options(nostack, preserves_flags, nomem));
        #[cfg(target_arch = "riscv64")]
        asm!("mv {}, tp", out(reg) own, options(nostack, preserves_flags, nomem));
    }
    own
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn put_all(machine: &mcontext_t, put: impl Fn(usize, u64)) -> usize {
    // The places are constants: none is checked at run time.
    let registers = &machine.gregs;
    put(0, registers[libc::REG_RAX as usize] as u64);
    put(1, registers[libc::REG_RDX as usize] as u64);
    put(2, registers[libc::REG_RCX as usize] as u64);
    put(3, registers[libc::REG_RBX as usize] as u64);
    put(4, registers[libc::REG_RSI as usize] as u64);
    put(5, registers[libc::REG_RDI as usize] as u64);
    put(6, registers[libc::REG_RBP as usize] as u64);
    put(7, registers[libc::REG_RSP as usize] as u64);
    put(8, registers[libc::REG_R8 as usize] as u64);
    put(9, registers[libc::REG_R9 as usize] as u64);
    put(10, registers[libc::REG_R10 as usize] as u64);
    put(11, registers[libc::REG_R11 as usize] as u64);
    put(12, registers[libc::REG_R12 as usize] as u64);
    put(13, registers[libc::REG_R13 as usize] as u64);
    put(14, registers[libc::REG_R14 as usize] as u64);
    put(15, registers[libc::REG_R15 as usize] as u64);
    put(16, registers[libc::REG_RIP as usize] as u64);
    registers[libc::REG_RSP as usize] as usize
}

#[cfg(target_arch = "x86")]
#[inline(always)]
fn put_all(machine: &mcontext_t, put: impl Fn(usize, u64)) -> usize {
    let registers = &machine.gregs;
    put(0, u64::from(registers[libc::REG_EAX as usize] as u32));
    put(1, u64::from(registers[libc::REG_ECX as usize] as u32));
    put(2, u64::from(registers[libc::REG_EDX as usize] as u32));
    put(3, u64::from(registers[libc::REG_EBX as usize] as u32));
    put(4, u64::from(registers[libc::REG_ESP as usize] as u32));
    put(5, u64::from(registers[libc::REG_EBP as usize] as u32));
    put(6, u64::from(registers[libc::REG_ESI as usize] as u32));
    put(7, u64::from(registers[libc::REG_EDI as usize] as u32));
    put(8, u64::from(registers[libc::REG_EIP as usize] as u32));
    registers[libc::REG_ESP as usize] as u32 as usize
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn put_all(machine: &mcontext_t, put: impl Fn(usize, u64)) -> usize {
    /// The platform register: with a shadow call stack its address, which must stay secret.
    const SHADOW_STACK: usize = 18;
    let mut at = 0;
    while at < machine.regs.len() {
        put(at, if at == SHADOW_STACK { 0 } else { machine.regs[at] });
        at += 1;
    }
    put(31, machine.sp);
    put(32, machine.pc);
    machine.sp as usize
}

#[cfg(target_arch = "arm")]
#[inline(always)]
fn put_all(machine: &mcontext_t, put: impl Fn(usize, u64)) -> usize {
    put(0, machine.arm_r0.into());
    put(1, machine.arm_r1.into());
    put(2, machine.arm_r2.into());
    put(3, machine.arm_r3.into());
    put(4, machine.arm_r4.into());
    put(5, machine.arm_r5.into());
    put(6, machine.arm_r6.into());
    put(7, machine.arm_r7.into());
    put(8, machine.arm_r8.into());
    put(9, machine.arm_r9.into());
    put(10, machine.arm_r10.into());
    put(11, machine.arm_fp.into());
    put(12, machine.arm_ip.into());
    put(13, machine.arm_sp.into());
    put(14, machine.arm_lr.into());
    // Bit 5 of the status word tells Thumb code, as bit 0 of an address does.
    put(15, (machine.arm_pc | machine.arm_cpsr >> 5 & 1).into());
    machine.arm_sp as usize
}

#[cfg(all(target_arch = "riscv64", target_os = "linux"))]
#[inline(always)]
fn put_all(machine: &mcontext_t, put: impl Fn(usize, u64)) -> usize {
    // The kernel's first is the program counter, then x1 to x31.
    let registers = &machine.__gregs;
    put(0, 0);
    let mut at = 1;
    while at < 32 {
        put(at, registers[at]);
        at += 1;
    }
    put(32, registers[0]);
    registers[2] as usize
}
