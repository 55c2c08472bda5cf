//! Why nothing was hooked, or not unhooked.

use super::target::Target;
use crate::elf::ElfError;
use crate::error::OsError;
use std::io;
use thiserror::Error;

/// Why nothing was hooked. Nothing is changed then.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HookError {
    /// A capture is running already; only one at a time is possible.
    #[error("a trace text is being captured already; wait for it")]
    Busy,
    /// An earlier hook could not be removed, because other code hooked after us and calls us: hooking again could make
    /// the two call each other endlessly.
    #[error("code that hooked write after an earlier capture still calls its hook; start a new process")]
    LeftBehind,
    /// The thread that writes the dump was not found.
    #[error("the thread that writes the dump was not found")]
    NoThread,
    /// No loaded object matches the target.
    #[error("{0} is not loaded")]
    NotLoaded(Target),
    /// The object imports no `write`: it may call the system directly, or through another object.
    #[error("{0} does not import write; name the object that calls it for it")]
    NoSlot(Target),
    /// This CPU architecture is not supported.
    #[error("hooks are not supported on this CPU architecture")]
    Machine,
    /// The object's tables cannot be read.
    #[error("{0}")]
    Elf(#[source] ElfError),
    /// The slot's page is not private memory with a known protection, so the protection could not be restored.
    #[error("the page of the slot is not private memory of known protection")]
    Protection,
    /// The slots of the object lead to different functions, so there is not one original to call.
    #[error("the object's slots of write lead to different functions")]
    SlotsDisagree,
    /// The slot holds no address, or changed while it was read.
    #[error("the object's slot of write leads nowhere yet; try again")]
    Unresolved,
    /// The kernel refused.
    #[error(transparent)]
    Os(#[from] OsError),
    /// `/proc` could not be read, or the thread that passes on the text could not be started.
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// Why the hook could not be removed. It forwards every call and copies nothing, until the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnhookError {
    /// Other code hooked after us: the slot no longer holds our hook, and what it holds may call it.
    #[error("other code hooked write after us; our hook stays and only calls the original")]
    Displaced,
    /// The protection of the slot's page can no longer be read.
    #[error("the protection of the slot's page cannot be read; the hook stays and passes on")]
    Protection,
    /// The kernel refused.
    #[error("{0}; the hook stays and passes on")]
    Os(OsError),
}
