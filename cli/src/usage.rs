//! Errors in a command line that clap cannot detect itself.

/// An error in the command line, in words. It ends the program as clap's own errors do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) &'static str);
