//! Waits: which calls may block, and how the code around them tells so.
//!
//! ```text
//!   monitorenter     wb(1, lock); monitorenter; we(1, lock)
//!   monitorexit      monitorexit; wr(lock)
//!   call             wb(kind, on); call; we(kind, null)
//!   synchronized     see splice::lock
//! ```
//!
//! What is called with which kind stands in a [`Catalogue`]; [`splice::waits`](crate::splice::waits) puts the code in.

mod catalogue;
pub(crate) mod scan;
pub(crate) mod serializable;

pub(crate) use catalogue::WaitObject;
pub use catalogue::{Catalogue, CatalogueError};

use crate::hierarchy::Hierarchy;

/// What is known about waits while classes are rewritten.
#[derive(Clone, Copy)]
pub(crate) struct Waits<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) hierarchy: &'a Hierarchy,
}
