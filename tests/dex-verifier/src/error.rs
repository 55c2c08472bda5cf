//! Why a dex file cannot be read at all.

/// A violation of the dex format that leaves no tables to check code against.
///
/// Faults of a single method are no `ReadError`: they are findings of the [`Report`](crate::Report).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {at})")]
pub struct ReadError {
    /// The offset in the file, in bytes.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl ReadError {
    pub(crate) fn new(at: usize, what: &'static str) -> Self {
        Self { at, what }
    }
}
