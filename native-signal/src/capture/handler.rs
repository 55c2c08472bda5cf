//! The signal's handler. It reads the clock, stores registers and stack words into the slot, and returns: no lock, no
//! allocation, nothing that can panic, and no system call but where memory tags are checked. `errno` is kept.

use super::kernel::{QueuedInfo, SI_QUEUE, SI_TIMER};
use super::request::REQUEST;
use super::slot::Slot;
use super::stacks::Range;
use super::{memory, registers};
use crate::clock::boottime_ns;
use nix::errno::Errno;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use trace_format::native_slot::{MAX_STACK, at, flags, state};

/// What `sigaction` installs. `scripts/prove native-capture` finds its instructions by this name.
pub(super) extern "C" fn on_native_capture(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let errno = Errno::last_raw();
    if !info.is_null() && !context.is_null() {
        // SAFETY: not null, and every signal's information starts like this; what it means is checked first.
        let info = unsafe { &*info.cast::<QueuedInfo>() };
        // A timer's signal has the timer's number where a queued one has the sender.
        let ours = match info.code {
            SI_TIMER => true,
            SI_QUEUE => info.pid == REQUEST.pid.load(Ordering::Relaxed),
            _ => false,
        };
        let cookie = if ours { info.value } else { 0 };
        if let Some(number) = REQUEST.accept(cookie) {
            // SAFETY: the kernel's context of the signal that this thread handles now.
            unsafe { fill(context) };
            REQUEST.done(number);
        }
    }
    Errno::set_raw(errno);
}

/// Fills the slot of the request that this thread has.
///
/// # Safety
///
/// `context` is the `ucontext_t` that the kernel passed to the handler that runs.
#[inline(always)]
unsafe fn fill(context: *const libc::c_void) {
    let Some(memory) = NonNull::new(REQUEST.slot.load(Ordering::Acquire)) else { return };
    // SAFETY: a slot's memory; the request is this thread's until it is done.
    let slot = unsafe { Slot::new(memory) };
    if !slot.advance(state::ASKED, state::FILLING) {
        return;
    }
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: by contract.
    let sp = unsafe { registers::store(context, slot.at(at::REGISTERS).cast()) };
    // SAFETY: by contract.
    let (end, mut found) = match unsafe { stack_end(context, sp) } {
        Some((end, found)) if sp.is_multiple_of(size_of::<usize>()) => (end, found),
        _ => (0, flags::FOREIGN_STACK),
    };
    let mut length = 0;
    if end != 0 {
        length = end.wrapping_sub(sp);
        if length > MAX_STACK {
            length = MAX_STACK;
            found |= flags::CUT;
        }
        length = if REQUEST.by_kernel.load(Ordering::Relaxed) {
            // SAFETY: the slot's place for stack bytes, which has room for `MAX_STACK`.
            unsafe { memory::copy(sp as u64, slot.stack_bytes(), length) }
        } else {
            // SAFETY: `sp..end` is this thread's stack in use: mapped, readable, and not unmapped while it runs here.
            unsafe { copy_words(sp, slot.stack_bytes(), length) }
        };
    }
    slot.store(at::STACK_END, end as u64);
    slot.store(at::SP, sp as u64);
    slot.store(at::STACK_LEN, length as u32);
    slot.store(at::FLAGS, found);
    slot.store(at::FILLED, boottime_ns());
    if !slot.advance(state::FILLING, state::FULL) {
        // The one who asked has given up.
        slot.state().store(state::FREE, Ordering::Release);
    }
}

/// The end of the stack that `sp` is on, with the flags that say which it is; `None` if it is not a known one.
///
/// # Safety
///
/// `context` is the running handler's.
#[inline(always)]
unsafe fn stack_end(context: *const libc::ucontext_t, sp: usize) -> Option<(usize, u16)> {
    // SAFETY: by contract.
    let alternate = unsafe { &(*context).uc_stack };
    let bottom = alternate.ss_sp as usize;
    if alternate.ss_flags & libc::SS_DISABLE == 0 && sp.wrapping_sub(bottom) < alternate.ss_size {
        return Some((bottom.wrapping_add(alternate.ss_size) & !(size_of::<usize>() - 1), flags::IN_HANDLER));
    }
    let ranges = REQUEST.ranges.load(Ordering::Relaxed);
    let range = find(ranges, REQUEST.ranges_len.load(Ordering::Relaxed), sp)?;
    if range.whole {
        return Some((range.end, 0));
    }
    // The mapping may go on behind the thread's stack, with memory that another thread may unmap meanwhile. The C libraries put a
    // thread's own data above its stack, in the same mapping: up to there it is the thread's.
    let own = registers::thread_pointer() & !(size_of::<usize>() - 1);
    (own > sp && own <= range.end).then_some((own, 0))
}

/// The range that holds an address, by halving.
#[inline(always)]
fn find(ranges: *const Range, len: usize, address: usize) -> Option<Range> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        // SAFETY: the table holds `len` ranges, which are not changed while a request is open.
        let range = unsafe { ranges.wrapping_add(middle).read() };
        if address < range.start {
            high = middle;
        } else if address >= range.end {
            low = middle + 1;
        } else {
            return Some(range);
        }
    }
    None
}

/// Copies words, with loads and stores that the compiler does not turn into a call; returns how many bytes.
///
/// # Safety
///
/// Both are aligned to words; `length` bytes can be read at `from` and written at `to`.
#[inline(always)]
unsafe fn copy_words(from: usize, to: *mut u8, length: usize) -> usize {
    let (from, to) = (from as *const usize, to.cast::<usize>());
    let words = length / size_of::<usize>();
    let mut at = 0;
    while at < words {
        // SAFETY: by contract. Another thread may write to the stack meanwhile: then this word is the one before or after.
        unsafe { to.wrapping_add(at).write_volatile(from.wrapping_add(at).read_volatile()) };
        at += 1;
    }
    words * size_of::<usize>()
}
