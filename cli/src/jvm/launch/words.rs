//! The words of a launcher's command line: which take a value, which name a file of words, and where the program's begin.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::jvm::argfile;

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

/// Options whose value is the next word, by their meaning here.
fn valued(option: &[u8]) -> Option<Valued> {
    Some(match option {
        b"-cp" | b"-classpath" | b"--class-path" => Valued::ClassPath,
        b"-m" | b"--module" => Valued::Module,
        b"--source" => Valued::Source,
        b"-d" | b"--describe-module" => Valued::NoProgram,
        b"-p"
        | b"--module-path"
        | b"--upgrade-module-path"
        | b"--add-modules"
        | b"--enable-native-access"
        | b"--limit-modules"
        | b"--add-exports"
        | b"--add-opens"
        | b"--add-reads"
        | b"--patch-module" => Valued::Other,
        _ => return None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Valued {
    ClassPath,
    Module,
    Source,
    NoProgram,
    Other,
}

/// A command line of the launcher, read word by word up to the program's own arguments. An `@argfile` stands for the
/// words of that file.
#[derive(Default)]
pub(super) struct Words {
    version: u32,
    /// `--disable-@files` was seen.
    no_files: bool,
    /// The option before, if its value comes next.
    wants_value: Option<Valued>,
    lacks_value: bool,
    jar: bool,
    source: bool,
    /// An option was seen after which the launcher starts no program.
    pub(super) no_program: bool,
    /// Options in their order, with their values.
    pub(super) options: Vec<OsString>,
    pub(super) main: Option<Main>,
}

impl Words {
    /// For the launcher of Java `version`, at the first word.
    pub(super) fn of(version: u32) -> Self {
        Self { version, ..Self::default() }
    }

    /// True if an option has no value, which the launcher will report.
    pub(super) fn lacks_value(&self) -> bool {
        self.lacks_value || self.wants_value.is_some()
    }

    /// True if the launcher takes a word that begins with `@` at this place for a file's name.
    pub(super) fn reads_files(&self) -> bool {
        self.version >= 9 && !self.no_files && self.main.is_none()
    }

    /// Reads an argument; `None` if it names a file that cannot be read, which the launcher will report.
    pub(super) fn read(&mut self, argument: &OsStr) -> Option<()> {
        self.words_of(argument)?.into_iter().for_each(|word| self.see(word));
        Some(())
    }

    /// The words that an argument at this place stands for; `None` if its file cannot be read.
    pub(super) fn words_of(&self, argument: &OsStr) -> Option<Vec<OsString>> {
        let name = argument.as_bytes().strip_prefix(b"@");
        Some(match name.filter(|name| !name.is_empty() && self.reads_files()) {
            None => vec![argument.to_owned()],
            Some(literal) if literal.starts_with(b"@") => vec![OsStr::from_bytes(literal).to_owned()],
            Some(file) => {
                let text = std::fs::read(OsStr::from_bytes(file)).ok()?;
                argfile::words(&text).into_iter().map(OsString::from_vec).collect()
            }
        })
    }

    /// Reads a word.
    pub(super) fn see(&mut self, word: OsString) {
        let text = word.as_bytes();
        if self.main.is_some() {
            return;
        }
        if !text.starts_with(b"-") {
            match self.wants_value.take() {
                None => self.main = Some(self.main_of(word)),
                Some(Valued::Module) => self.main = Some(Main::Module(word)),
                Some(_) => self.options.push(word),
            }
            return;
        }
        self.lacks_value |= self.wants_value.take().is_some();
        self.no_files |= text == b"--disable-@files";
        self.no_program |= NO_PROGRAM.contains(&text) && (self.version >= 9 || !text.starts_with(b"--"));
        if text == b"-jar" {
            self.jar = true;
            return;
        }
        let at = text.iter().position(|b| *b == b'=').filter(|_| text.starts_with(b"--"));
        // Java 8 has only the options of the class path, and none that is joined to its value.
        let is_known = |kind: &Valued| self.version >= 9 || *kind == Valued::ClassPath && at.is_none();
        let kind = valued(&text[..at.unwrap_or(text.len())]).filter(is_known);
        self.source |= kind == Some(Valued::Source);
        self.no_program |= kind == Some(Valued::NoProgram);
        match (kind, at) {
            (Some(Valued::Module), Some(at)) => {
                self.main = Some(Main::Module(OsStr::from_bytes(&text[at + 1..]).to_owned()));
            }
            (Some(Valued::Module), None) => self.wants_value = kind,
            _ => {
                self.wants_value = kind.filter(|_| at.is_none());
                self.options.push(word);
            }
        }
    }

    fn main_of(&self, word: OsString) -> Main {
        let is_source =
            self.version >= 11 && word.as_bytes().ends_with(b".java") && Path::new(&word).exists();
        if self.source || (is_source && !self.jar) {
            Main::SourceFile(word)
        } else if self.jar {
            Main::Jar(word)
        } else {
            Main::Class(word)
        }
    }
}
