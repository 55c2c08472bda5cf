//! The leader's alternate signal stack.
//!
//! Our handler runs on the alternate stack (SA_ONSTACK), since the leader may have overflowed its own when the dump is
//! requested. Android's C library gives every thread an alternate stack; on another system the leader may have none, and then
//! gets ours while SIGQUIT is unblocked in it.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of the stack, bytes: a signal frame with all the registers of today's CPUs (under 16 KiB), and handlers that
/// chain to ours. A page that is never touched costs nothing.
const SIZE: usize = 64 * 1024;

/// Size of the guard below the stack, bytes, so that an overflow faults and overwrites no data. The largest page size that exists.
const GUARD: usize = 64 * 1024;

/// The address of our stack, 0 before it is allocated. Allocated once and never freed, since nothing signals when the last
/// handler has left it.
#[derive(Default)]
pub(crate) struct AltStack(AtomicUsize);

impl AltStack {
    /// Gives the calling thread our stack if it has no alternate stack. Without memory for it the handler runs on the ordinary stack.
    pub(crate) fn provide(&self) {
        if current().is_none_or(|current| current.ss_flags & libc::SS_DISABLE == 0) {
            return;
        }
        let known = Some(self.0.load(Ordering::Acquire)).filter(|bottom| *bottom != 0);
        let Some(bottom) = known.or_else(map) else { return };
        self.0.store(bottom, Ordering::Release);
        set(libc::stack_t { ss_sp: bottom as *mut _, ss_flags: 0, ss_size: SIZE });
    }

    /// Removes our stack from the calling thread, if it is in use there and no handler runs on it.
    pub(crate) fn remove(&self) {
        let bottom = self.0.load(Ordering::Acquire);
        if bottom != 0
            && current().is_some_and(|current| current.ss_sp as usize == bottom && current.ss_flags == 0)
        {
            set(libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE });
        }
    }
}

fn map() -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping wherever the kernel likes.
    let all = unsafe { libc::mmap(ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, flags, -1, 0) };
    if all == libc::MAP_FAILED {
        return None;
    }
    let bottom = all as usize + GUARD;
    // SAFETY: the upper part of the mapping just made; its start is page-aligned as GUARD is.
    let opened = unsafe { libc::mprotect(bottom as *mut _, SIZE, libc::PROT_READ | libc::PROT_WRITE) };
    if opened != 0 {
        // SAFETY: the mapping just made, which no other code knows yet.
        unsafe { libc::munmap(all, GUARD + SIZE) };
        return None;
    }
    Some(bottom)
}

fn current() -> Option<libc::stack_t> {
    let mut stack = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: nothing is set; a live place for the answer.
    (unsafe { libc::sigaltstack(ptr::null(), &mut stack) } == 0).then_some(stack)
}

fn set(stack: libc::stack_t) {
    // SAFETY: either none, or a mapping of this size that is never freed and used by this thread alone. A refusal (a
    // handler runs on the present one) changes nothing.
    let _ = unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_an_alternate_stack_gets_one_and_loses_it_again() {
        // Rust gives its threads one.
        let ours = AltStack::default();
        let own = current().unwrap();
        assert_eq!(own.ss_flags & libc::SS_DISABLE, 0);
        ours.provide();
        assert_eq!(current().unwrap().ss_sp, own.ss_sp, "its own stays");
        ours.remove();
        assert_eq!(current().unwrap().ss_sp, own.ss_sp);

        set(libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE });
        ours.provide();
        let given = current().unwrap();
        assert_eq!((given.ss_flags, given.ss_size), (0, SIZE));
        // Its lowest byte is usable.
        // SAFETY: the stack just provided, which no code uses.
        unsafe { given.ss_sp.cast::<u8>().write_volatile(1) };
        ours.remove();
        assert_ne!(current().unwrap().ss_flags & libc::SS_DISABLE, 0);
        ours.provide();
        assert_eq!(current().unwrap().ss_sp, given.ss_sp, "made once");
        ours.remove();
        set(own);
    }
}
