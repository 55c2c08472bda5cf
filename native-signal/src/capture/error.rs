//! Why a capture is not possible.

use crate::error::OsError;
use thiserror::Error;

/// Why [`super::Capture::install`] did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// Every signal that may be used has a handler.
    #[error("no real-time signal is free for native stacks")]
    NoFreeSignal,
    /// The signal that was asked for is reserved, or no real-time signal.
    #[error("signal {signal} cannot be used for native stacks: it is reserved, or no real-time signal")]
    Unusable {
        /// Its number.
        signal: i32,
    },
    /// The signal that was asked for has another handler.
    #[error("signal {signal} cannot be used for native stacks: another handler has it")]
    Taken {
        /// Its number.
        signal: i32,
    },
    /// This CPU architecture is not supported.
    #[error("native stacks are not supported on this CPU")]
    Machine,
    /// The kernel refused.
    #[error(transparent)]
    Os(#[from] OsError),
}

/// Why [`super::Capture::take`] copied nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The thread did not run its handler within 200 ms, as it got no CPU, or it never stayed in one call for as long as a copy takes.
    #[error("the thread did not answer within 200 ms")]
    TimedOut,
    /// The thread runs, and blocks the signal.
    #[error("the thread blocks the signal")]
    Blocked,
    /// The slot, or the thread, is in another capture, or the slot's last capture was not collected.
    #[error("another capture is under way")]
    Busy,
    /// The thread has ended, or is not one of this process.
    #[error("there is no such thread in this process")]
    NoThread,
    /// It is the calling thread.
    #[error("a thread cannot capture its own stack")]
    OwnThread,
    /// Another handler was installed for the signal after ours: no more captures.
    #[error("another handler was installed for the signal")]
    HandlerReplaced,
    /// The thread sleeps in a system call that is not known, and that the signal might end.
    #[error("the thread sleeps in a system call that a signal might end")]
    UnknownCall,
    /// This process was forked from the one that installed the handler.
    #[error("forked from the process that installed the handler")]
    ForkedChild,
    /// The kernel refused.
    #[error(transparent)]
    Os(#[from] OsError),
}
