//! Captures of the simulated app's threads, and what must hold of each.

use super::art::own_id;
use native_signal::capture::{Capture, Reason, Slot, Taken};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicI64, Ordering};
use trace_format::native_slot::{LEN, flags};
use trace_format::sections::native_stack::NativeStack;

/// How many captures of one kind, and how many were not as they must be.
#[derive(Default, Debug)]
pub(crate) struct Counts {
    pub(crate) by_signal: i64,
    pub(crate) without_signal: i64,
    pub(crate) refused: i64,
    pub(crate) wrong: i64,
}

/// A slot in memory of its own.
pub(crate) fn slot() -> Slot {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping wherever the kernel likes.
    let memory =
        unsafe { libc::mmap(null_mut(), LEN, rights, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    // SAFETY: just mapped, page-aligned, only used by this slot, and never unmapped.
    unsafe { Slot::new(NonNull::new(memory.cast()).unwrap()) }
}

/// The handler is installed by the first call.
pub(crate) fn capture() -> &'static Capture {
    Capture::install(None).unwrap()
}

/// Captures a thread once, and checks what the capture says of itself.
pub(crate) fn take(tid: i64, slot: &Slot, counts: &mut Counts) -> Option<NativeStack> {
    let taken = match capture().take(tid as u32, Reason::Stall, slot) {
        Ok(taken) => taken,
        Err(_) => {
            counts.refused += 1;
            return None;
        }
    };
    let stack = slot.stack();
    slot.free();
    let Some(stack) = stack else {
        counts.wrong += 1;
        return None;
    };
    let by_signal = taken == Taken::BySignal;
    let is_cut = stack.flags & flags::CUT != 0;
    let end = stack.sp + stack.stack.len() as u64;
    let fits = stack.tid == tid as u32
        && stack.at >= stack.asked
        && stack.pc() != 0
        && by_signal == (stack.flags & flags::WITHOUT_SIGNAL == 0)
        && (!by_signal || stack.registers[stack.machine.stack_pointer()] == stack.sp)
        && (stack.stack.is_empty() || is_cut || end == stack.stack_end);
    counts.wrong += i64::from(!fits);
    *(if by_signal { &mut counts.by_signal } else { &mut counts.without_signal }) += 1;
    Some(stack)
}

/// A thread that says its id, and does something.
pub(crate) fn start(body: impl FnOnce() + Send + 'static) -> (i64, std::thread::JoinHandle<()>) {
    static TID: AtomicI64 = AtomicI64::new(0);
    TID.store(0, Ordering::SeqCst);
    let thread = std::thread::spawn(move || {
        TID.store(own_id(), Ordering::SeqCst);
        body();
    });
    super::page::wait_until("a thread", || TID.load(Ordering::SeqCst) != 0);
    (TID.load(Ordering::SeqCst), thread)
}
