//! Waits and steps of concurrent work: which calls may block or hand work to other threads, and the code that records them.
//!
//! ```text
//!   monitorenter     wb(1, lock); monitorenter; we(1, lock)      or, if an agent times it: monitorenter; wt(true, lock)
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

use self::steps::Step;
use crate::hierarchy::Hierarchy;

/// What the rewriter knows about waits.
#[derive(Clone, Copy)]
pub(crate) struct Waits<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) hierarchy: &'a Hierarchy,
    pub(crate) monitors: Monitors,
}

/// The steps and the wait that are recorded at a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) blocking: Option<Blocking>,
    pub(crate) steps: Vec<Step>,
    /// True if a constructor is called.
    pub(crate) creates: bool,
}

/// Who times the waits for monitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Monitors {
    /// The inserted code. To measure the wait for its lock, a synchronized method loses its flag, unless a computed serial
    /// version depends on it.
    Inserted,
    /// An agent, to which the JVM reports these waits. The inserted code only notes the owners. All methods keep their
    /// modifiers: a JVM redefines no class in which they change (JVM TI, `RetransformClasses`).
    Agent,
}
