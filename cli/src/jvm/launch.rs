//! Parses a Java command line by the rules of the Java launcher.
//!
//! The launcher reads options up to the first word that is not an option; that word is the main class, the jar after `-jar`, or a
//! source file. The words are passed on as they are, so this module needs only what the program is, and which options it has.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use self::words::Words;
use super::argfile;

mod archives;
mod variables;
mod words;

pub(crate) use self::archives::{WRITE_ARCHIVES, without_archives};
pub(crate) use self::variables::option_in_variables;
pub(crate) use self::words::Main;

/// The variable whose words the launcher puts before its arguments, from Java 9 on.
pub(crate) const VARIABLE: &str = "JDK_JAVA_OPTIONS";

/// A program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// Options in their order, with their values.
    pub(crate) options: Vec<OsString>,
    /// The main class or jar.
    pub(crate) main: Main,
}

/// Parses a command line as the launcher of Java `version` does (8, 11, 17...); `variable` is the content of [`VARIABLE`].
///
/// Returns `None` if it starts no program (`-version`, `--help`), or the launcher will reject it: run it unchanged.
pub(crate) fn plan(arguments: &[OsString], variable: Option<&OsStr>, version: u32) -> Option<Launch> {
    let mut words = Words::of(version);
    if let Some(options) = variable.filter(|_| version >= 9) {
        for word in argfile::variable_words(options.as_bytes())? {
            words.read(OsStr::from_bytes(&word))?;
        }
        if words.main.is_some() || words.lacks_value() {
            return None;
        }
        // The launcher reads the variable again itself: only its meaning is of interest.
        words.options.clear();
    }
    for argument in arguments {
        words.read(argument)?;
    }
    let starts_program = !words.lacks_value() && !words.no_program;
    words.main.filter(|_| starts_program).map(|main| Launch { options: words.options, main })
}

#[cfg(test)]
mod tests;
