//! Why a capture is not possible.

use nix::errno::Errno;
use std::fmt;

/// Why [`super::Capture::install`] did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// Every signal that may be used has a handler.
    NoFreeSignal,
    /// The signal that was asked for is reserved, or no real-time signal.
    Unusable {
        /// Its number.
        signal: i32,
    },
    /// The signal that was asked for has another handler.
    Taken {
        /// Its number.
        signal: i32,
    },
    /// This CPU architecture is not supported.
    Machine,
    /// The kernel refused.
    Os {
        /// What was asked for.
        call: &'static str,
        /// Its answer.
        errno: i32,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFreeSignal => f.write_str("no real-time signal is free for native stacks"),
            Self::Unusable { signal } => {
                write!(
                    f,
                    "signal {signal} cannot be used for native stacks: it is reserved, or no real-time signal"
                )
            }
            Self::Taken { signal } => {
                write!(f, "signal {signal} cannot be used for native stacks: another handler has it")
            }
            Self::Machine => f.write_str("native stacks are not supported on this CPU"),
            Self::Os { call, errno } => write!(f, "{call}: {}", Errno::from_raw(*errno)),
        }
    }
}

impl std::error::Error for CaptureError {}

/// Why [`super::Capture::take`] copied nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The thread did not run its handler within 200 ms, as it got no CPU, or it never stayed in one call for as long as a copy takes.
    TimedOut,
    /// The thread runs, and blocks the signal.
    Blocked,
    /// The slot, or the thread, is in another capture, or the slot's last capture was not collected.
    Busy,
    /// The thread has ended, or is not one of this process.
    NoThread,
    /// It is the calling thread.
    OwnThread,
    /// Another handler was installed for the signal after ours: no more captures.
    HandlerReplaced,
    /// The thread sleeps in a system call that is not known, and that the signal might end.
    UnknownCall,
    /// This process was forked from the one that installed the handler.
    ForkedChild,
    /// The kernel refused.
    Os {
        /// What was asked for.
        call: &'static str,
        /// Its answer.
        errno: i32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("the thread did not answer within 200 ms"),
            Self::Blocked => f.write_str("the thread blocks the signal"),
            Self::Busy => f.write_str("another capture is under way"),
            Self::NoThread => f.write_str("there is no such thread in this process"),
            Self::OwnThread => f.write_str("a thread cannot capture its own stack"),
            Self::HandlerReplaced => f.write_str("another handler was installed for the signal"),
            Self::UnknownCall => f.write_str("the thread sleeps in a system call that a signal might end"),
            Self::ForkedChild => f.write_str("forked from the process that installed the handler"),
            Self::Os { call, errno } => write!(f, "{call}: {}", Errno::from_raw(*errno)),
        }
    }
}

impl std::error::Error for Refusal {}
