//! Waits and steps of concurrent work: which calls may block or hand work to other threads, and the code that records them.
//!
//! ```text
//!   monitorenter     wb(1, lock); monitorenter; we(1, lock)
//!   monitorexit      monitorexit; wr(lock)
//!   call             wb(call << 4 | kind, on); call; we(kind, null)
//!   synchronized     see splice::lock
//!   step             c(object, other, step, method); call
//! ```
//!
//! A [`Catalogue`] lists the calls and their kinds; by the number of a
//! [`CallId`](trace_format::event::CallId) a recording names the call; [`splice::waits`](crate::splice::waits) inserts the code.

pub(crate) mod call_kind;
mod catalogue;
mod entries;
pub(crate) mod scan;
pub(crate) mod serializable;
pub(crate) mod steps;
pub(crate) mod tasks;

pub use call_kind::CallKind;
pub(crate) use catalogue::Blocking;
pub use catalogue::{Catalogue, CatalogueError};

use crate::hierarchy::Hierarchy;

/// What the rewriter knows about waits.
#[derive(Clone, Copy)]
pub(crate) struct Waits<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) hierarchy: &'a Hierarchy,
    pub(crate) flags: LockFlags,
}

/// The synchronized methods that lose their flag, so that the wait for their lock is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockFlags {
    /// None: a JVM redefines no class whose methods change their modifiers (JVM TI, `RetransformClasses`).
    Kept,
    /// Methods on which no computed serial version depends.
    Unseen,
    /// All. A class whose serial version depends on them declares it. This is right only for the very class file that a JVM would
    /// load: others are changed on their way to it, by the compiler for Android for example, and have another version then.
    Declared,
}
