//! Why nothing was hooked, or not unhooked.

use super::target::Target;
use crate::elf::ElfError;
use nix::errno::Errno;
use std::fmt;
use std::io;

/// Why nothing was hooked. Nothing is changed then.
#[derive(Debug)]
#[non_exhaustive]
pub enum HookError {
    /// A capture is running already; only one at a time is possible.
    Busy,
    /// An earlier hook could not be removed, because other code hooked after us and calls us: hooking again could make
    /// the two call each other endlessly.
    LeftBehind,
    /// The thread that writes the dump was not found.
    NoThread,
    /// No loaded object matches the target.
    NotLoaded(Target),
    /// The object imports no `write`: it may call the system directly, or through another object.
    NoSlot(Target),
    /// This CPU architecture is not supported.
    Machine,
    /// The object's tables cannot be read.
    Elf(ElfError),
    /// The slot's page is not private memory with a known protection, so the protection could not be restored.
    Protection,
    /// The slots of the object lead to different functions, so there is not one original to call.
    SlotsDisagree,
    /// The slot holds no address, or changed while it was read.
    Unresolved,
    /// The kernel refused.
    Os {
        /// The system call.
        call: &'static str,
        /// Its error.
        errno: i32,
    },
    /// `/proc` could not be read, or the thread that passes on the text could not be started.
    Io(io::Error),
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HookError::Busy => f.write_str("a trace text is being captured already; wait for it"),
            HookError::LeftBehind => f.write_str(
                "code that hooked write after an earlier capture still calls its hook; start a new process",
            ),
            HookError::NoThread => f.write_str("the thread that writes the dump was not found"),
            HookError::NotLoaded(target) => write!(f, "{target} is not loaded"),
            HookError::NoSlot(target) => {
                write!(f, "{target} does not import write; name the object that calls it for it")
            }
            HookError::Machine => f.write_str("hooks are not supported on this CPU architecture"),
            HookError::Elf(error) => error.fmt(f),
            HookError::Protection => {
                f.write_str("the page of the slot is not private memory of known protection")
            }
            HookError::SlotsDisagree => {
                f.write_str("the object's slots of write lead to different functions")
            }
            HookError::Unresolved => f.write_str("the object's slot of write leads nowhere yet; try again"),
            HookError::Os { call, errno } => write!(f, "{call}: {}", Errno::from_raw(*errno)),
            HookError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HookError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            HookError::Elf(error) => Some(error),
            HookError::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Why the hook could not be removed. It forwards every call and copies nothing, until the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnhookError {
    /// Other code hooked after us: the slot no longer holds our hook, and what it holds may call it.
    Displaced,
    /// The protection of the slot's page can no longer be read.
    Protection,
    /// The kernel refused.
    Os {
        /// The system call.
        call: &'static str,
        /// Its error.
        errno: i32,
    },
}

impl fmt::Display for UnhookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnhookError::Displaced => {
                f.write_str("other code hooked write after us; our hook stays and only calls the original")
            }
            UnhookError::Protection => {
                f.write_str("the protection of the slot's page cannot be read; the hook stays and passes on")
            }
            UnhookError::Os { call, errno } => {
                write!(f, "{call}: {}; the hook stays and passes on", Errno::from_raw(*errno))
            }
        }
    }
}

impl std::error::Error for UnhookError {}
