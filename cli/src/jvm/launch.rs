//! Parses a Java command line by the rules of the Java launcher.
//!
//! The launcher reads options up to the first word that is not an option; that word is the main class, the jar after `-jar`, or a
//! source file. This module needs the class path and where the program's own arguments begin; all else is passed on in order.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use self::archives::CLASS_ARCHIVES;
use self::words::{Expander, Valued, valued};
use super::{argfile, class_path};

mod archives;
mod variables;
mod words;

pub(crate) use self::archives::{WRITE_ARCHIVES, without_archives};
pub(crate) use self::variables::option_in_variables;
pub(crate) use self::words::escape_at;

/// What the launcher reads besides its arguments.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// `CLASSPATH`.
    pub(crate) class_path: Option<OsString>,
    /// `JDK_JAVA_OPTIONS`, which the launcher puts before its arguments from Java 9 on.
    pub(crate) options: Option<OsString>,
}

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
    /// Options for the JVM in their order, without those of the class path.
    pub(crate) options: Vec<OsString>,
    /// The main class or jar.
    pub(crate) main: Main,
    /// The class path, wildcards expanded. For `-jar`, the jar alone. Empty for a module or a source file.
    pub(crate) class_path: Vec<PathBuf>,
    /// The program's own arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Whether there is a module path, from which nothing is traced.
    pub(crate) module_path: bool,
    /// Options left out because they name an archive of the classes before instrumentation.
    pub(crate) left_out: Vec<OsString>,
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

/// Parses a command line as the launcher of Java `version` does (8, 11, 17...).
pub(crate) fn plan(arguments: &[OsString], environment: &Environment, version: u32) -> Plan {
    let mut expander = Expander::of(version);
    let mut state =
        State { class_path: environment.class_path.clone().map(Given::Launcher), ..State::default() };

    if let Some(options) = environment.options.as_ref().filter(|_| version >= 9) {
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
        state.left_out.clear();
    }

    let Some(words) = expander.expand(arguments.iter().cloned()) else {
        return Plan::NoProgram;
    };
    let (module, rest) = match state.read(words.into(), version) {
        Some(Stop::Main(rest)) => (None, rest),
        Some(Stop::Module(module, rest)) => (Some(module), rest),
        Some(Stop::NoProgram) | None => return Plan::NoProgram,
    };
    if state.no_program {
        return Plan::NoProgram;
    }
    let mut rest = rest.into_iter();
    let main = match module {
        Some(module) => Main::Module(module),
        None => {
            let Some(what) = rest.next() else { return Plan::NoProgram };
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
    let class_path = match (&main, state.class_path) {
        (Main::Module(_) | Main::SourceFile(_), _) => Vec::new(),
        (Main::Jar(jar), _) => vec![PathBuf::from(jar)],
        (Main::Class(_), Some(Given::Launcher(path))) => class_path::expand(&path),
        (Main::Class(_), Some(Given::Property(path))) => class_path::split(&path),
        (Main::Class(_), None) => vec![PathBuf::from(".")],
    };
    Plan::Program(Launch {
        options: state.options,
        main,
        class_path,
        arguments: rest.collect(),
        module_path: state.module_path,
        left_out: state.left_out,
    })
}

/// A class path, by who expands its wildcards.
enum Given {
    /// `-cp` and `CLASSPATH`: the launcher does.
    Launcher(OsString),
    /// `-Djava.class.path=`: they are not expanded.
    Property(OsString),
}

/// State of parsing the options.
#[derive(Default)]
struct State {
    options: Vec<OsString>,
    left_out: Vec<OsString>,
    class_path: Option<Given>,
    jar: bool,
    source: bool,
    module_path: bool,
    no_program: bool,
}

/// Where the options end.
enum Stop {
    /// At the main class or jar, and its arguments.
    Main(Vec<OsString>),
    /// At a module, and its arguments.
    Module(OsString, Vec<OsString>),
    /// At an option that starts no program.
    NoProgram,
}

impl State {
    /// Reads options; `None` if there were only options.
    fn read(&mut self, mut words: std::collections::VecDeque<OsString>, version: u32) -> Option<Stop> {
        while let Some(word) = words.pop_front() {
            let text = word.as_bytes();
            if !text.starts_with(b"-") {
                words.push_front(word);
                return Some(Stop::Main(words.into()));
            }
            if NO_PROGRAM.contains(&text) && (version >= 9 || !text.starts_with(b"--")) {
                self.no_program = true;
            } else if text == b"-jar" {
                self.jar = true;
                continue;
            } else if let Some(path) = text.strip_prefix(b"-Djava.class.path=") {
                self.class_path = Some(Given::Property(OsString::from_vec(path.to_vec())));
                continue;
            } else if CLASS_ARCHIVES.iter().any(|archive| text.starts_with(archive.as_bytes())) {
                self.left_out.push(word);
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
                Valued::ClassPath => {
                    self.class_path = Some(Given::Launcher(value));
                    continue;
                }
                Valued::Module => return Some(Stop::Module(value, words.into())),
                Valued::Source => self.source = true,
                Valued::NoProgram => self.no_program = true,
                Valued::ModulePath => self.module_path = true,
                Valued::Other => {}
            }
            let joined = text.contains(&b'=');
            self.options.push(word);
            if !joined {
                self.options.push(value);
            }
        }
        None
    }

    fn value_of(&self, text: &[u8], words: &mut std::collections::VecDeque<OsString>, version: u32) -> Value {
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
