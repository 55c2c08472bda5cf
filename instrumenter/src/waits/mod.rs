//! Waits: which calls may block, and the code that records them.
//!
//! ```text
//!   monitorenter     wb(1, lock); monitorenter; we(1, lock)
//!   monitorexit      monitorexit; wr(lock)
//!   call             wb(kind, on); call; we(kind, null)
//!   synchronized     see splice::lock
//! ```
//!
//! A [`Catalogue`] lists the calls and their kinds; [`splice::waits`](crate::splice::waits) inserts the code.

mod catalogue;
pub(crate) mod scan;
pub(crate) mod serializable;

pub(crate) use catalogue::WaitObject;
pub use catalogue::{Catalogue, CatalogueError};

use crate::hierarchy::Hierarchy;

/// What the rewriter knows about waits.
#[derive(Clone, Copy)]
pub(crate) struct Waits<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) hierarchy: &'a Hierarchy,
}
