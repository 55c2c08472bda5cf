//! Copies a thread's registers and stack into a slot of the recording.
//!
//! [`Capture::take`] first reads what the kernel shows of the thread, and then does one of these:
//!
//! | the thread | what happens |
//! | --- | --- |
//! | runs | A timer on the thread's own CPU time sends the signal at the next tick at which the thread runs |
//! | sleeps in a system call that the kernel restarts (`read`, a lock's `futex`, binder) | The signal is queued to it at once |
//! | is in any other call (`nanosleep`, `epoll_wait`, a timed `futex`), does not sleep interruptibly, or blocks the signal | It is copied from outside, without a signal |
//!
//! The signal's handler stores registers and stack words into the slot and returns: no lock, no allocation, no unwinding.
//!
//! # Why a timer
//!
//! Between the moment at which the kernel shows a running thread and the moment at which a queued signal arrives, the thread may enter
//! `nanosleep`, which then returns EINTR. A timer on the thread's CPU time (`timer_create` with the thread's clock) does not expire while the
//! thread sleeps. From Linux 5.10 on (`CONFIG_POSIX_CPU_TIMERS_TASK_WORK`) it sends its signal when the thread returns from the kernel, so it ends
//! no call. On an earlier kernel it sends the signal from the tick, and a tick between the entry of a call and its sleep still ends that call.
//!
//! A queued signal keeps a smaller risk: the thread must leave a call that is restarted, and enter one that is not, between the kernel's answer
//! and the signal's arrival, some 20 µs. The thread is asked for only while it hangs, so this is rare, but not impossible.
//!
//! # Where the kernel shows less
//!
//! `/proc/self/task/TID/syscall` is readable for the process's own user only while the process is dumpable, which a release build of an Android app is not.
//! `stat` and `wchan` are readable always. So without `syscall` a running thread is captured as above, a thread that sleeps in one of the
//! kernel's functions for a call that is always restarted gets the signal, and any other is refused with
//! [`Refusal::UnknownCall`], because the signal might end its call early, with EINTR or as a spurious wake-up.

mod calls;
mod error;
mod handler;
#[cfg(test)]
mod handler_times;
mod kernel;
mod memory;
mod modules;
mod mutex;
mod numbers;
mod registers;
mod request;
mod slot;
mod stacks;
mod take;
mod thread;

pub use error::{CaptureError, Refusal};
pub use modules::modules;
pub use slot::Slot;
pub(crate) use stacks::Line;
pub use trace_format::native_slot::Reason;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use trace_format::native_slot::Machine;

/// Copies threads' stacks. One in a process.
#[derive(Debug)]
pub struct Capture {
    signal: i32,
}

/// How a stack was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// By the signal's handler, on the thread.
    BySignal,
    /// From outside: of the registers only the program counter and the stack pointer are known.
    WithoutSignal,
}

impl Capture {
    /// Chooses a free real-time signal, or takes `signal`, and installs the handler, which stays for the process's life. A call after one that
    /// succeeded returns the same for any `signal`.
    ///
    /// A signal of this number that other code sends is ignored from here on.
    ///
    /// # Errors
    ///
    /// [`CaptureError`]; nothing was installed then.
    pub fn install(signal: Option<i32>) -> Result<&'static Self, CaptureError> {
        static INSTALLED: OnceLock<Capture> = OnceLock::new();
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(installed) = INSTALLED.get() {
            return Ok(installed);
        }
        if Machine::HERE.is_none() {
            return Err(CaptureError::Machine);
        }
        request::REQUEST.pid.store(crate::task::process_id(), Ordering::Release);
        let signal = numbers::install(signal)?;
        Ok(INSTALLED.get_or_init(|| Capture { signal }))
    }

    /// The signal's number.
    #[must_use]
    pub fn signal(&self) -> i32 {
        self.signal
    }

    /// Copies the registers and the stack of the thread `tid` of this process into `slot`, which must be free and is full afterwards.
    /// Blocks for 200 ms at most. Any thread may call it but `tid` itself. It allocates nothing, since `tid` may hold the allocator's lock.
    ///
    /// The slot may be read once this returns; [`Slot::free`] makes it free again.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; the slot is free then, or is freed by a handler that is still running.
    pub fn take(&self, tid: u32, reason: Reason, slot: &Slot) -> Result<Taken, Refusal> {
        take::take(self.signal, tid, reason, slot)
    }
}

/// Signals of the capture's number that were not ours since [`Capture::install`].
pub fn strays() -> u32 {
    request::REQUEST.strays.load(Ordering::Relaxed)
}
