//! The SIGQUIT handler. Everything it does is in this file, and every call is on the list of man 7 signal-safety or is a
//! plain system call: `clock_gettime`, `getpid`, `tgkill` *or* the previous handler, `futex`; `gettid` only for a signal
//! that this process sent by `tgkill`, and where a handler before ours gave no siginfo. `errno` is kept.

use crate::clock::boottime_ns;
use crate::previous::Action;
use crate::sensed::{Forwarded, Sensed};
use crate::shared::{Shared, count};
use crate::task;
use nix::errno::Errno;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `SI_TKILL` of `asm-generic/siginfo.h`, which the libc crate lacks on some targets.
pub(crate) const SI_TKILL: i32 = -6;

/// The handler that `sigaction` installs.
pub(crate) extern "C" fn on_sigquit(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let errno = Errno::last_raw();
    if let Some(shared) = Shared::get() {
        take(shared, signal, info, context);
    }
    Errno::set_raw(errno);
}

fn take(
    shared: &'static Shared,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let time_ns = boottime_ns();
    // SAFETY: the kernel (or a handler that chains to us) passes the siginfo of this very signal, or null.
    let (si_code, si_pid, si_uid) = match unsafe { info.as_ref() } {
        // SAFETY: all forms in which a process sends SIGQUIT carry pid and uid in this place; where the kernel sends it
        // (the quit key of a terminal) the place is zero.
        Some(info) => unsafe { (info.si_code, info.si_pid(), info.si_uid()) },
        None => (0, 0, 0),
    };

    if task::process_id() != shared.pid {
        // A child of fork or vfork. The catcher, the slots and our thread belong to its parent.
        if let Some(previous) = shared.previous() {
            let _ = call_previous(previous, signal, info, context);
        }
        return;
    }
    // The sender is unknown where a handler before ours calls ours without the siginfo: it may have been this process.
    let from_this_process = info.is_null() || (si_code == SI_TKILL && si_pid == shared.pid);

    // Forward first. `None`: a handler further up the stack forwards it.
    let Some(forwarded) = forward(shared, signal, info, context, from_this_process) else { return };
    match forwarded {
        Forwarded::Failed { .. } => {
            shared.unforwarded.fetch_add(1, Ordering::AcqRel);
        }
        _ => count(&shared.totals.forwarded),
    }

    let armed = shared.armed.load(Ordering::Acquire);
    if armed && !(from_this_process && noted_by_the_rescue(shared)) {
        count(&shared.totals.sensed);
        if !shared.slots.push(Sensed { time_ns, si_code, si_pid, si_uid, forwarded }) {
            count(&shared.totals.merged);
        }
    }
    if armed || matches!(forwarded, Forwarded::Failed { .. }) {
        shared.wake();
    }
}

fn forward(
    shared: &'static Shared,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
    from_this_process: bool,
) -> Option<Forwarded> {
    let catcher = shared.catcher.load(Ordering::Acquire);
    if shared.withhold.load(Ordering::Relaxed) {
        return Some(Forwarded::ToCatcher { tid: catcher });
    }
    if let Some(previous) = shared.previous() {
        if call_previous(previous, signal, info, context) {
            return Some(Forwarded::ToPreviousHandler);
        }
        // The catcher then ends the chain. Our thread searches for it where it is not known yet, or gone; the call that
        // contains this one wakes that thread.
        if catcher == 0 || shared.send_to(catcher).is_err() {
            shared.looped_back.fetch_add(1, Ordering::AcqRel);
        }
        return None;
    }
    // A signal that we sent and that comes back to us did not reach a `sigwait`: the thread is no catcher. Sending again
    // would never end.
    if from_this_process && task::own_id() == catcher {
        shared.refused.store(catcher, Ordering::Release);
        shared.catcher.store(0, Ordering::Release);
        return Some(Forwarded::Failed { errno: libc::ELOOP });
    }
    if catcher == 0 {
        return Some(Forwarded::Failed { errno: libc::ESRCH });
    }
    Some(match shared.send_to(catcher) {
        Ok(()) => Forwarded::ToCatcher { tid: catcher },
        Err(errno) => Forwarded::Failed { errno },
    })
}

/// Calls the previous handler; false if this is a call from inside it. That happens when it installed itself on top of us again
/// and now chains to us: calling it would never end.
fn call_previous(
    previous: &Action,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) -> bool {
    match Call::enter(info) {
        Call::First(slot) => {
            // SAFETY: the action was read by `sigaction`, and a library that installs a handler keeps it loaded, as the kernel
            // requires too; the arguments are those that our own handler was given for this signal.
            unsafe { previous.call(signal, info, context) };
            slot.leave();
        }
        // SAFETY: as above.
        Call::Unguarded => unsafe { previous.call(signal, info, context) },
        Call::Nested => return false,
    }
    true
}

/// Whether the rescue forwarded this signal and noted it already; counts it off if so.
fn noted_by_the_rescue(shared: &Shared) -> bool {
    shared.resent.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
}

/// Calls of the previous handler that have not returned, identified by the address of their siginfo, or by the thread where a
/// handler that chains to ours passes none.
///
/// The kernel puts siginfo into the signal frame on the stack, so the address also names the thread. A fresh delivery
/// can only find its own address here if a previous handler left by `longjmp` and the stack was reused; then our frame
/// is where it was, directly below the signal frame. A call from inside the previous handler is lower.
static IN_PROGRESS: [CallSlot; 8] =
    [const { CallSlot { info: AtomicUsize::new(0), frame: AtomicUsize::new(0) } }; 8];

struct CallSlot {
    info: AtomicUsize,
    frame: AtomicUsize,
}

enum Call {
    First(&'static CallSlot),
    Nested,
    /// No slot is free: more than eight threads are in handlers at a time.
    Unguarded,
}

impl Call {
    // Never inlined: the address of its frame must be a fixed distance from the handler's.
    #[inline(never)]
    fn enter(info: *mut libc::siginfo_t) -> Call {
        let mark = 0u8;
        let frame = std::hint::black_box(&raw const mark) as usize;
        let info = match info as usize {
            // No siginfo has an odd address.
            0 => task::own_id() as usize * 2 + 1,
            address => address,
        };
        for slot in &IN_PROGRESS {
            if slot.info.load(Ordering::Acquire) == info {
                if frame < slot.frame.load(Ordering::Relaxed) {
                    return Call::Nested;
                }
                slot.frame.store(frame, Ordering::Relaxed);
                return Call::First(slot);
            }
        }
        for slot in &IN_PROGRESS {
            if slot.info.compare_exchange(0, info, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                slot.frame.store(frame, Ordering::Relaxed);
                return Call::First(slot);
            }
        }
        Call::Unguarded
    }
}

impl CallSlot {
    fn leave(&self) {
        self.info.store(0, Ordering::Release);
    }
}
