//! Why code cannot be written.

use crate::error::{Limit, Malformed};

/// Why code cannot be written with the indices of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The code that was read is broken.
    #[error(transparent)]
    Malformed(Malformed),
    /// The edit exceeds a limit of the format.
    #[error(transparent)]
    Limit(Limit),
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<Limit> for Fault {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}
