//! Parses a Java command line by the rules of the Java launcher.
//!
//! The launcher reads options up to the first word that is not an option; that word is the main class, the jar after `-jar`, or a
//! source file. The words are passed on as they are, so this module needs only what the program is, and which options it has.

use std::collections::VecDeque;
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

/// What to do with a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It starts no program (`-version`, `--help`), or the launcher will reject it: run it unchanged.
    NoProgram,
    /// It starts this program.
    Program(Launch),
}

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
pub(crate) fn plan(arguments: &[OsString], variable: Option<&OsStr>, version: u32) -> Plan {
    let mut expander = Expander::of(version);
    let mut state = State::default();

    if let Some(options) = variable.filter(|_| version >= 9) {
        let Some(words) = argfile::variable_words(options.as_bytes()) else {
            return Plan::NoProgram;
        };
        let words = words.into_iter().map(OsString::from_vec);
        let Some(words) = expander.expand(words) else { return Plan::NoProgram };
        // The launcher reads the variable again itself: only its meaning is of interest.
        if state.read(words.into(), version).is_some() {
            return Plan::NoProgram;
        }
        state.options.clear();
    }

    let Some(words) = expander.expand(arguments.iter().cloned()) else {
        return Plan::NoProgram;
    };
    let main = match state.read(words.into(), version) {
        Some(Stop::NoProgram) | None => return Plan::NoProgram,
        Some(_) if state.no_program => return Plan::NoProgram,
        Some(Stop::Module(module)) => Main::Module(module),
        Some(Stop::Main(what)) => {
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
    Plan::Program(Launch { options: state.options, main })
}

/// State of parsing the options.
#[derive(Default)]
struct State {
    options: Vec<OsString>,
    jar: bool,
    source: bool,
    no_program: bool,
}

/// Where the options end.
enum Stop {
    /// At the main class or jar.
    Main(OsString),
    /// At a module.
    Module(OsString),
    /// At an option that starts no program.
    NoProgram,
}

impl State {
    /// Reads options; `None` if there were only options.
    fn read(&mut self, mut words: VecDeque<OsString>, version: u32) -> Option<Stop> {
        while let Some(word) = words.pop_front() {
            let text = word.as_bytes();
            if !text.starts_with(b"-") {
                return Some(Stop::Main(word));
            }
            if NO_PROGRAM.contains(&text) && (version >= 9 || !text.starts_with(b"--")) {
                self.no_program = true;
            } else if text == b"-jar" {
                self.jar = true;
                continue;
            }
            let (kind, value) = match self.value_of(text, &mut words, version) {
                Value::None => {
                    self.options.push(word);
                    continue;
                }
                Value::Missing => return Some(Stop::NoProgram),
                Value::Some(kind, value) => (kind, value),
            };
            match kind {
                Valued::Module => return Some(Stop::Module(value)),
                Valued::Source => self.source = true,
                Valued::NoProgram => self.no_program = true,
                Valued::ClassPath | Valued::Other => {}
            }
            let joined = text.contains(&b'=');
            self.options.push(word);
            if !joined {
                self.options.push(value);
            }
        }
        None
    }

    fn value_of(&self, text: &[u8], words: &mut VecDeque<OsString>, version: u32) -> Value {
        let known = |kind: &Valued| version >= 9 || *kind == Valued::ClassPath;
        if let Some(at) = text.iter().position(|b| *b == b'=').filter(|_| text.starts_with(b"--")) {
            let kind = valued(&text[..at]).filter(|_| version >= 9);
            return kind.map_or(Value::None, |kind| {
                Value::Some(kind, OsStr::from_bytes(&text[at + 1..]).to_owned())
            });
        }
        let Some(kind) = valued(text).filter(known) else { return Value::None };
        match words.front() {
            Some(next) if !next.as_bytes().starts_with(b"-") => {
                Value::Some(kind, words.pop_front().expect("just seen"))
            }
            _ => Value::Missing,
        }
    }
}

enum Value {
    /// The option takes no value.
    None,
    /// It needs one; the launcher will report that.
    Missing,
    Some(Valued, OsString),
}

#[cfg(test)]
mod tests;
