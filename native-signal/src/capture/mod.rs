//! Copies a thread's registers and stack into a slot of the recording.
//!
//! [`Capture::take`] reads what the kernel shows of the thread first. A thread in a system call that a signal would end is copied from
//! outside; any other thread gets a real-time signal, whose handler stores registers and stack words and returns.

mod error;
mod modules;
mod slot;

pub use error::{CaptureError, Refusal};
pub use modules::modules;
pub use slot::Slot;
pub use trace_format::native_slot::Reason;

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
    /// Chooses a free real-time signal, or takes `signal`, and installs the handler, which stays for the process's life. A second call
    /// returns the first one's result.
    ///
    /// # Errors
    ///
    /// [`CaptureError`]; nothing was installed then.
    pub fn install(signal: Option<i32>) -> Result<&'static Self, CaptureError> {
        let _ = signal;
        Err(CaptureError::NoFreeSignal)
    }

    /// The signal's number.
    #[must_use]
    pub fn signal(&self) -> i32 {
        self.signal
    }

    /// Copies the registers and the stack of the thread `tid` of this process into `slot`, which must be free and is full afterwards.
    /// Blocks for 200 ms at most. Any thread may call it but `tid` itself.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; the slot is free then, or is freed by the handler when the signal arrives late.
    pub fn take(&self, tid: u32, reason: Reason, slot: &Slot) -> Result<Taken, Refusal> {
        let _ = (tid, reason, slot);
        Err(Refusal::TimedOut)
    }
}
