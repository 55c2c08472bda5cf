//! Signal masks of threads, and threads that block signals.

use crate::task;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::io;
use std::thread::{Builder, JoinHandle};

/// Every signal but the synchronous faults. A blocked fault kills the process without running its crash
/// reporter (man 2 sigprocmask), so faults stay unblocked in all threads.
/// The C library removes its own internal signals from the set.
pub(crate) fn all_but_faults() -> SigSet {
    let mut set = SigSet::all();
    for fault in [
        Signal::SIGSEGV,
        Signal::SIGBUS,
        Signal::SIGILL,
        Signal::SIGFPE,
        Signal::SIGTRAP,
        Signal::SIGABRT,
        Signal::SIGSYS,
    ] {
        set.remove(fault);
    }
    set
}

/// SIGQUIT alone.
pub(crate) fn only_sigquit() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGQUIT);
    set
}

/// Whether SIGQUIT is unblocked in the calling thread.
pub(crate) fn is_open_here() -> bool {
    SigSet::thread_get_mask().is_ok_and(|set| !set.contains(Signal::SIGQUIT))
}

/// Whether SIGQUIT is unblocked in the group leader. Any thread.
pub(crate) fn is_open_on_the_leader() -> bool {
    let pid = task::process_id();
    if task::own_id() == pid {
        return is_open_here();
    }
    matches!(task::status(pid), Ok(Some(status)) if status.is_open(libc::SIGQUIT))
}

/// Starts a thread that takes no signals but faults. A new thread inherits its creator's mask, so blocking before and restoring
/// after leaves no instruction at which it could take one; blocking as the thread's own first act would.
///
/// # Errors
///
/// The thread could not be started.
pub fn spawn_quiet(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let before = all_but_faults().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let spawned = Builder::new().name(name.to_owned()).stack_size(1024 * 1024).spawn(body);
    // A valid mask on the calling thread: setting it cannot fail.
    let _ = before.thread_set_mask();
    spawned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_thread_blocks_signals_and_its_creators_mask_stays() {
        let before = SigSet::thread_get_mask().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = spawn_quiet("quiet", move || {
            let _ =
                sender.send((is_open_here(), SigSet::thread_get_mask().unwrap().contains(Signal::SIGSEGV)));
        });
        assert_eq!(receiver.recv().unwrap(), (false, false));
        thread.unwrap().join().unwrap();
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }
}
