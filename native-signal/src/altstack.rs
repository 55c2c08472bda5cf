//! The leader's alternate signal stack.
//!
//! Our handler asks for the alternate stack (SA_ONSTACK), for the leader may have overflowed its own just when it is
//! asked for a dump. Android's C library gives every thread one; a leader elsewhere may have none, and then gets ours
//! while SIGQUIT is open in it.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Room for a signal frame with all the registers that processors have today (under 16 KiB), and for handlers that
/// chain to ours. A page that is never touched costs nothing.
const SIZE: usize = 64 * 1024;

/// Below the stack, so that an overflow of it is a fault and not somebody's data. The largest page size there is.
const GUARD: usize = 64 * 1024;

/// Where ours lies; made once and never freed, for nothing tells when the last handler has left it.
pub(crate) struct AltStack(AtomicUsize);

impl AltStack {
    pub(crate) const fn none() -> Self {
        AltStack(AtomicUsize::new(0))
    }

    /// Gives the calling thread ours if it has none. Without memory for it the handler runs on the ordinary stack.
    pub(crate) fn provide(&self) {
        if current().is_none_or(|current| current.ss_flags & libc::SS_DISABLE == 0) {
            return;
        }
        let bottom = match self.0.load(Ordering::Acquire) {
            0 => match map() {
                Some(bottom) => bottom,
                None => return,
            },
            bottom => bottom,
        };
        self.0.store(bottom, Ordering::Release);
        set(libc::stack_t { ss_sp: bottom as *mut _, ss_flags: 0, ss_size: SIZE });
    }

    /// Takes ours from the calling thread again, if it is the one in force and no handler runs on it.
    pub(crate) fn take_back(&self) {
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
        // SAFETY: the mapping just made, which nobody knows yet.
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
    fn given_where_there_is_none_and_taken_back() {
        // A thread of Rust's has one of its own.
        let ours = AltStack::none();
        let own = current().unwrap();
        assert_eq!(own.ss_flags & libc::SS_DISABLE, 0);
        ours.provide();
        assert_eq!(current().unwrap().ss_sp, own.ss_sp, "its own stays");
        ours.take_back();
        assert_eq!(current().unwrap().ss_sp, own.ss_sp);

        set(libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: SIZE });
        ours.provide();
        let given = current().unwrap();
        assert_eq!((given.ss_flags, given.ss_size), (0, SIZE));
        // Its lowest byte is usable.
        // SAFETY: the stack just provided; nobody uses it.
        unsafe { given.ss_sp.cast::<u8>().write_volatile(1) };
        ours.take_back();
        assert_ne!(current().unwrap().ss_flags & libc::SS_DISABLE, 0);
        ours.provide();
        assert_eq!(current().unwrap().ss_sp, given.ss_sp, "made once");
        ours.take_back();
        set(own);
    }
}
