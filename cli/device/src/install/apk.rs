//! The APKs on this machine, checked before anything is sent.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The first bytes of a ZIP file with entries.
const ZIP: [u8; 4] = *b"PK\x03\x04";
/// The longest name of a file in a session, bytes.
const MAX_NAME: usize = 80;

/// An APK to send.
#[derive(Debug)]
pub(super) struct Apk {
    path: PathBuf,
    /// The file's name.
    pub(super) name: String,
    /// Its size, bytes. The package manager takes exactly as many.
    pub(super) size: u64,
}

impl Apk {
    /// Checks that `path` may be an APK: a file, and a ZIP archive of no other kind.
    pub(super) fn examine(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::File { path: path.to_owned(), source };
        let wrong =
            |what: &str, cure: &'static str| Err(Error::other(format!("{}: {what}", path.display()), cure));
        // A pipe would block when it is opened.
        let metadata = path.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return wrong("this is not a file", "give the APK's path");
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "aab" => {
                return wrong(
                    "an app bundle cannot be installed",
                    "make APKs of it with `bundletool build-apks`, unpack those for the device, and give them in one command",
                );
            }
            "apks" | "apkm" | "xapk" => {
                return wrong(
                    "this is an archive of several APKs",
                    "unpack it, and give the base APK and the splits for the device in one command",
                );
            }
            _ => {}
        }
        let mut start = [0; ZIP.len()];
        let read = File::open(path).map_err(failed)?.read_exact(&mut start);
        match read {
            Ok(()) if start == ZIP => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(failed(error)),
            _ => return wrong("this is not an APK, which is a ZIP archive", "give the APK's path"),
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { path: path.to_owned(), name, size: metadata.len() })
    }

    /// Opens the file; it yields [`Self::size`] bytes, or an error if it has become shorter.
    pub(super) fn open(&self) -> Result<Content<'_>, Error> {
        let file = File::open(&self.path).map_err(|source| self.error(source))?;
        Ok(Content { apk: self, file: file.take(self.size) })
    }

    fn error(&self, source: io::Error) -> Error {
        Error::File { path: self.path.clone(), source }
    }

    /// Returns the name for the file in a session. The number keeps names apart that differ in replaced characters only.
    pub(super) fn name_in_session(&self, number: usize) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let name: String = self.name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        let stem = name.strip_suffix(".apk").unwrap_or(&name);
        let end = stem.get(stem.len().saturating_sub(MAX_NAME)..).unwrap_or(stem);
        format!("{number}_{end}.apk")
    }
}

/// The bytes of an APK.
#[derive(Debug)]
pub(super) struct Content<'a> {
    apk: &'a Apk,
    file: io::Take<File>,
}

impl Content<'_> {
    /// Reads the next bytes; 0 after the last.
    pub(super) fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            match self.file.read(buffer) {
                Ok(0) if self.file.limit() > 0 => {
                    let error =
                        io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was sent");
                    return Err(self.apk.error(error));
                }
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.apk.error(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(name: &str) -> Apk {
        Apk { path: name.into(), name: name.into(), size: 1 }
    }

    #[test]
    fn names_in_a_session_are_plain_and_distinct() {
        assert_eq!(named("base.apk").name_in_session(0), "0_base.apk");
        assert_eq!(named("split config.apk").name_in_session(1), "1_split_config.apk");
        assert_eq!(named("../é$(x)").name_in_session(2), "2_..____x_.apk");
        assert_ne!(named("a b.apk").name_in_session(0), named("a_b.apk").name_in_session(1));
    }

    proptest! {
        #[test]
        fn any_name_becomes_one_that_no_shell_interprets(name in ".{0,200}", number in 0_usize..1_000) {
            let name = named(&name).name_in_session(number);
            prop_assert!(name.len() <= MAX_NAME + 8 && name.ends_with(".apk"));
            prop_assert_eq!(crate::quote(&name), name);
        }
    }
}
