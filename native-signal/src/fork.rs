//! Blocks SIGQUIT again in children made by `fork`.
//!
//! The handler itself knows a child by its pid. What remains is the mask: the leader has SIGQUIT unblocked because of us, its
//! child would have it unblocked too, and after `exec` its action would be the default. So the child
//! blocks it again and is as it would be without us. (`vfork` and `posix_spawn` run no such hooks; there the mask
//! is inherited.)

use crate::mask;
use crate::shared::Shared;
use std::sync::Once;
use std::sync::atomic::Ordering;

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> libc::c_int;
}

/// Registers the hook, once a process.
pub(crate) fn close_in_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the hook is a function without captures that lives as long as this library, which by contract is
        // never unloaded. No memory for one more hook: children keep the mask, no worse than after `vfork`.
        let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Runs in the child, on the copy of the thread that forked; only calls that are safe in a signal handler.
extern "C" fn in_child() {
    let Some(shared) = Shared::get() else { return };
    if shared.opened.load(Ordering::Relaxed) == mask_owner() {
        let _ = mask::only_sigquit().thread_block();
    }
}

/// The calling thread as `pthread_t`, which a forked child keeps (its tid changes).
pub(crate) fn mask_owner() -> usize {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::pthread_self() as usize }
}
