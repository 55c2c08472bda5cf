//! Parses a Java command line by the rules of the Java launcher.
//!
//! The launcher reads options up to the first word that is not an option; that word is the main class, the jar after `-jar`, or a
//! source file. The words are passed on as they are, so this module needs only what the program is, and which options it has.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use self::words::{Expander, Valued, valued};
use super::argfile;

mod archives;
mod variables;
mod words;

pub(crate) use self::archives::{WRITE_ARCHIVES, without_archives};
pub(crate) use self::variables::option_in_variables;

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

/// The main class or jar.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Main {
    /// A class by its name.
    Class(OsString),
    /// The main class of a jar.
    Jar(OsString),
    /// A module, and its main class if that is named: `module/class`.
    Module(OsString),
    /// A source file, which the launcher compiles in memory.
    SourceFile(OsString),
}

impl Main {
    /// The name as on the command line.
    pub(crate) fn name(&self) -> &OsStr {
        match self {
            Self::Class(name) | Self::Jar(name) | Self::Module(name) | Self::SourceFile(name) => name,
        }
    }

    /// The jar that was given without `-jar`, so that Java takes its name for a class's.
    pub(crate) fn jar_in_place_of_a_class(&self) -> Option<&Path> {
        let Self::Class(name) = self else { return None };
        let path = Path::new(name);
        (path.extension().is_some_and(|end| end == "jar") && path.is_file()).then_some(path)
    }
}

/// Options after which the launcher starts no program.
const NO_PROGRAM: &[&[u8]] = &[
    b"-help",
    b"-h",
    b"-?",
    b"--help",
    b"-version",
    b"--version",
    b"-fullversion",
    b"--full-version",
    b"-X",
    b"--help-extra",
    b"--dry-run",
    b"--list-modules",
    b"--validate-modules",
    b"-Xshare:dump",
];

/// Parses a command line as the launcher of Java `version` does (8, 11, 17...); `variable` is the content of [`VARIABLE`].
///
/// Returns `None` if it starts no program (`-version`, `--help`), or the launcher will reject it: run it unchanged.
pub(crate) fn plan(arguments: &[OsString], variable: Option<&OsStr>, version: u32) -> Option<Launch> {
    let mut expander = Expander::of(version);
    let mut state = State::default();

    if let Some(options) = variable.filter(|_| version >= 9) {
        let words = argfile::variable_words(options.as_bytes())?;
        let words = expander.expand(words.into_iter().map(OsString::from_vec))?;
        // The launcher reads the variable again itself: only its meaning is of interest.
        if !matches!(state.read(words, version)?, End::Options) {
            return None;
        }
        state.options.clear();
    }

    let words = expander.expand(arguments.iter().cloned())?;
    let main = match state.read(words, version)? {
        End::Options => return None,
        _ if state.no_program => return None,
        End::Module(module) => Main::Module(module),
        End::Main(what) => {
            let is_source = version >= 11 && what.as_bytes().ends_with(b".java") && Path::new(&what).exists();
            if state.source || (is_source && !state.jar) {
                Main::SourceFile(what)
            } else if state.jar {
                Main::Jar(what)
            } else {
                Main::Class(what)
            }
        }
    };
    Some(Launch { options: state.options, main })
}

/// State of parsing the options.
#[derive(Default)]
struct State {
    options: Vec<OsString>,
    jar: bool,
    source: bool,
    no_program: bool,
}

/// The end of the options.
enum End {
    /// There are only options.
    Options,
    /// The main class or jar follows.
    Main(OsString),
    /// A module follows.
    Module(OsString),
}

impl State {
    /// Reads options up to their end; `None` if one lacks its value, which the launcher will report.
    fn read(&mut self, words: Vec<OsString>, version: u32) -> Option<End> {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let text = word.as_bytes();
            if !text.starts_with(b"-") {
                return Some(End::Main(word));
            }
            if NO_PROGRAM.contains(&text) && (version >= 9 || !text.starts_with(b"--")) {
                self.no_program = true;
            } else if text == b"-jar" {
                self.jar = true;
                continue;
            }
            let at = text.iter().position(|b| *b == b'=').filter(|_| text.starts_with(b"--"));
            let joined = at.map(|at| OsStr::from_bytes(&text[at + 1..]).to_owned());
            // Java 8 has only the options of the class path, and none that is joined to its value.
            let is_known = |kind: &Valued| version >= 9 || *kind == Valued::ClassPath && at.is_none();
            let Some(kind) = valued(&text[..at.unwrap_or(text.len())]).filter(is_known) else {
                self.options.push(word);
                continue;
            };
            let value = match joined {
                Some(value) => value,
                None => words.next_if(|next| !next.as_bytes().starts_with(b"-"))?,
            };
            match kind {
                Valued::Module => return Some(End::Module(value)),
                Valued::Source => self.source = true,
                Valued::NoProgram => self.no_program = true,
                Valued::ClassPath | Valued::Other => {}
            }
            self.options.push(word);
            if at.is_none() {
                self.options.push(value);
            }
        }
        Some(End::Options)
    }
}

#[cfg(test)]
mod tests;
