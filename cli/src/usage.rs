//! Errors in a command line that clap cannot detect itself.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// An error in the command line, in words. It ends the program as clap's own errors do.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) &'static str);

impl Display for UsageError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for UsageError {}
