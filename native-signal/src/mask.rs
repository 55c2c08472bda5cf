//! Signal masks of threads, and threads that block signals.

use crate::task;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::io;
use std::thread::{Builder, JoinHandle};

/// Every signal but the synchronous faults, for the time in which one of our handlers runs.
///
/// A blocked fault kills the process without running its crash reporter (man 2 sigprocmask), so faults stay unblocked in
/// all threads. The real-time signals are in the set, unlike in [`of_a_quiet_thread`]: a handler ends within microseconds,
/// and what came meanwhile comes then. So the app's handlers never come on top of it on the alternate stack.
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

/// The first real-time signal of the kernel (man 7 signal). The C library keeps those below `SIGRTMIN` for itself: 32 and 33
/// in glibc, 32 to 34 in musl, 32 to as many as 41 in bionic.
const FIRST_REAL_TIME: libc::c_int = 32;

/// The signals that our threads block: all but the synchronous faults and the real-time signals.
///
/// A real-time signal is how a process addresses one of its own threads. ART from Android 9 on sends one to each thread
/// that Java does not know, to unwind it while SIGQUIT's dump is written, and waits 5 s (10 s from Android 12 on) for each
/// thread that blocks it (AOSP `art/runtime/thread_list.cc`, `system/unwinding/libunwindstack/ThreadUnwinder.cpp`). With our four
/// threads the dump took 20 s, which is all the time that Android gives it. bionic and glibc take their own numbers out
/// of every mask, so on phones no dump waited; but which number ART uses is not ours to rely on. Numbers outside the C
/// library's have such users too: profilers, debuggers, garbage collectors, and this crate's `capture`.
///
/// What can run on our threads is therefore a handler that its owner has sent there, or one for a signal to the whole
/// process, which the kernel gives to any thread that does not block it: to one of our threads as to one of the runtime's, none of
/// which blocks these signals. Both kinds must be able to interrupt any instruction of any thread (man 7
/// signal-safety), and need nothing from us. Our threads need nothing from them either: a call that ends early with EINTR is
/// repeated, or is a wait that looks again. A lock that our thread holds is held for as much longer as the handler takes.
fn of_a_quiet_thread() -> SigSet {
    let mut set = *all_but_faults().as_ref();
    for signal in FIRST_REAL_TIME..=libc::SIGRTMAX() {
        // A C library may refuse its own numbers, which are in none of its sets.
        // SAFETY: a live set, of which the call changes one bit at most.
        unsafe { libc::sigdelset(&raw mut set, signal) };
    }
    // SAFETY: made by the calls that are there for it, from a valid set.
    unsafe { SigSet::from_sigset_t_unchecked(set) }
}

/// SIGQUIT alone.
pub(crate) fn only_sigquit() -> SigSet {
    SigSet::from(Signal::SIGQUIT)
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

/// Starts a thread that takes no signals but faults and real-time signals. A new thread inherits its creator's mask, so blocking
/// before and restoring after leaves no instruction at which it could take one; blocking as the thread's own first act would.
/// What the creator blocks stays blocked: an app that takes a signal by `sigwait` alone relies on it in each thread.
///
/// # Errors
///
/// The thread could not be started.
pub fn spawn_quiet(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let before = of_a_quiet_thread().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
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
            let mask = SigSet::thread_get_mask().unwrap();
            // SAFETY: a live set.
            let has = |signal| unsafe { libc::sigismember(mask.as_ref(), signal) } == 1;
            let real_time = (FIRST_REAL_TIME..=libc::SIGRTMAX()).any(has);
            let _ = sender.send((is_open_here(), mask.contains(Signal::SIGSEGV), real_time));
        });
        assert_eq!(receiver.recv().unwrap(), (false, false, false));
        thread.unwrap().join().unwrap();
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }
}
