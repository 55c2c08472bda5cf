//! Signal masks of threads, and threads that stay out of the way of signals.

use crate::task;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::io;
use std::thread::{Builder, JoinHandle};

/// Every signal but those that a thread brings upon itself. A blocked fault kills the process without its crash
/// reporter being asked (man 2 sigprocmask), so faults stay open even where nothing else may come in between.
/// The C library keeps its own internal signals out of the set.
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

/// Whether the calling thread has SIGQUIT open.
pub(crate) fn is_open_here() -> bool {
    SigSet::thread_get_mask().is_ok_and(|set| !set.contains(Signal::SIGQUIT))
}

/// Whether the group leader has SIGQUIT open, asked from any thread.
pub(crate) fn is_open_on_the_leader() -> bool {
    let pid = task::process_id();
    if task::own_id() == pid {
        return is_open_here();
    }
    matches!(task::status(pid), Ok(Some(status)) if status.is_open(libc::SIGQUIT))
}

/// Starts a thread that takes no signals. A new thread inherits its maker's mask, so blocking before and restoring
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
    fn a_quiet_thread_blocks_and_its_maker_does_not_change() {
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
