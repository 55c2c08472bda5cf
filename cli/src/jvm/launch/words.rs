//! The words of a launcher's command line: which take a value, which name a file of words, and where the program's begin.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::jvm::argfile;

/// Options whose value is the next word, by their meaning here.
pub(super) fn valued(option: &[u8]) -> Option<Valued> {
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
pub(super) enum Valued {
    ClassPath,
    Module,
    Source,
    NoProgram,
    Other,
}

/// Replaces `@argfile` words by the files' words, up to the program's own arguments.
#[derive(Default)]
pub(super) struct Expander {
    modern: bool,
    disabled: bool,
    wants_value: bool,
    pub(super) found_main: bool,
}

impl Expander {
    /// For the launcher of Java `version`, at the first word.
    pub(super) fn of(version: u32) -> Self {
        Self { modern: version >= 9, ..Self::default() }
    }

    /// Whether the launcher takes a word that begins with `@` at this place for a file's name.
    pub(super) fn reads_files(&self) -> bool {
        self.modern && !self.disabled && !self.found_main
    }

    /// `None` if a file cannot be read; the launcher will report that.
    pub(super) fn expand(&mut self, arguments: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
        let mut out = Vec::new();
        for argument in arguments {
            for word in self.words_of(&argument)? {
                self.see(word.as_bytes());
                out.push(word);
            }
        }
        Some(out)
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

    /// Tracks a word, to know where the program's own arguments begin.
    pub(super) fn see(&mut self, word: &[u8]) {
        if word.starts_with(b"-") {
            self.wants_value = match valued(word) {
                Some(Valued::Module) | None => false,
                Some(_) => true,
            };
            self.disabled |= word == b"--disable-@files";
            self.found_main |= word.starts_with(b"--module=");
        } else {
            self.found_main |= !std::mem::take(&mut self.wants_value);
        }
    }
}

/// Escapes a word before the program's arguments so that the launcher takes it literally.
pub(super) fn escape_at(word: &OsStr) -> OsString {
    let mut out = OsString::new();
    if word.as_bytes().starts_with(b"@") && word.len() > 1 {
        out.push("@");
    }
    out.push(word);
    out
}
