//! Opening an archive and looking at its classes.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use zip::ZipArchive;

use super::{Archive, Entry, Fate, Reader, SharedBytes, manifest};
use crate::collect::{self, ClassFacts};
use crate::error::{Error, SkipReason};
use crate::map_id_class;
use crate::run::Session;
use crate::summary::{Skip, Warning};

/// Larger class files are not written by compilers.
pub(crate) const MAX_CLASS: u64 = 64 << 20;
/// A jar inside an aar beyond this would only be a trap for memory.
const MAX_NESTED: u64 = 2 << 30;

/// Reads entry `index` if it has at most `limit` bytes.
pub(crate) fn read_entry(reader: &mut Reader, index: usize, limit: u64) -> Result<Vec<u8>, SkipReason> {
    let unreadable = |reason: &dyn ToString| SkipReason::Unreadable(reason.to_string());
    let file = reader.by_index(index).map_err(|error| unreadable(&error))?;
    // The size is only what the archive claims: it may not make us ask for all memory.
    let mut bytes = Vec::with_capacity(usize::try_from(file.size().min(1 << 20)).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > limit { Err(SkipReason::ClassTooLarge) } else { Ok(bytes) }
}

impl Archive {
    /// Opens `bytes`, which are those of the input `path` or of a jar inside it.
    pub(crate) fn open(
        path: &Path,
        prefix: String,
        bytes: Vec<u8>,
        session: &mut Session<'_>,
    ) -> Result<Self, Error> {
        let not_an_archive = |error: &dyn ToString| Error::NotAnArchive {
            path: if prefix.is_empty() {
                path.into()
            } else {
                format!("{}!/{}", path.display(), prefix.trim_end_matches("!/")).into()
            },
            reason: error.to_string(),
        };
        let reader =
            ZipArchive::new(Cursor::new(SharedBytes(Arc::new(bytes)))).map_err(|e| not_an_archive(&e))?;
        if reader.has_duplicate_names() {
            session
                .warn(path, Warning::DuplicateEntries { archive: prefix.trim_end_matches("!/").to_owned() });
        }
        let entries = (0..reader.len()).map(|index| Entry { index, fate: Fate::Copy }).collect();
        Ok(Self { path: path.into(), prefix, reader, entries, new_manifest: None })
    }

    /// Decides the fate of every entry and collects the classes.
    pub(crate) fn collect(
        &mut self,
        class_path: Option<&str>,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let is_aar = self.prefix.is_empty()
            && self.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("aar"));
        let mut classes = Vec::new();
        let mut has_manifest = false;
        for index in 0..self.entries.len() {
            let name =
                self.reader.name_for_index(index).and_then(Result::ok).unwrap_or_default().into_owned();
            let fate = if name.ends_with(map_id_class::ENTRY) {
                session.warn(&self.path, Warning::OldMapId { entry: format!("{}{name}", self.prefix) });
                Fate::Drop
            } else if name.ends_with(".class") {
                classes.push(index);
                continue;
            } else if name.eq_ignore_ascii_case(manifest::ENTRY) && class_path.is_some() {
                has_manifest = true;
                let old = read_entry(&mut self.reader, index, MAX_CLASS);
                let old = old.map_err(|reason| self.entry_error(index, &reason))?;
                Fate::Manifest(manifest::with_class_path(&old, class_path.unwrap_or_default()))
            } else if is_aar && is_jar_of_aar(&name) {
                let bytes = read_entry(&mut self.reader, index, MAX_NESTED);
                let bytes = bytes.map_err(|reason| self.entry_error(index, &reason))?;
                let mut inner = Self::open(&self.path, format!("{name}!/"), bytes, session)?;
                inner.collect(None, session)?;
                Fate::Archive(Box::new(inner))
            } else if name.ends_with(".jar") {
                session.warn(&self.path, Warning::NestedJar { entry: format!("{}{name}", self.prefix) });
                continue;
            } else {
                continue;
            };
            self.set_fate(index, fate);
        }
        if let Some(class_path) = class_path.filter(|class_path| !has_manifest && !class_path.is_empty()) {
            self.new_manifest = Some(manifest::with_class_path(b"", class_path));
        }
        self.collect_classes(&classes, session)
    }

    fn collect_classes(&mut self, classes: &[usize], session: &mut Session<'_>) -> Result<(), Error> {
        let look = |reader: &mut Reader, index: usize| -> Result<(ClassFacts, Option<Vec<u8>>), SkipReason> {
            let bytes = read_entry(reader, index, MAX_CLASS)?;
            let facts = collect::collect(&bytes, session.options, &session.base)?;
            Ok((facts, session.keeps(bytes.len()).then_some(bytes)))
        };
        let looks: Vec<_> = session.pool.install(|| {
            let each = classes.par_iter().with_min_len(16);
            each.map_init(|| self.reader.clone(), |reader, &index| look(reader, index)).collect()
        });
        for (&index, found) in classes.iter().zip(looks) {
            match found {
                Ok((facts, bytes)) => {
                    let number = session.add_class(&self.path, facts);
                    self.set_fate(index, Fate::Class { number, bytes });
                }
                Err(reason) => {
                    let (input, class) = (self.path.clone(), self.entry_name(index));
                    session.skips.push(Skip { input, class, method: None, reason });
                }
            }
        }
        Ok(())
    }

    fn set_fate(&mut self, index: usize, fate: Fate) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.fate = fate;
        }
    }
}

/// `classes.jar`, and the libraries that an aar may carry.
fn is_jar_of_aar(entry: &str) -> bool {
    let library = entry.strip_prefix("libs/").and_then(|file| file.strip_suffix(".jar"));
    entry == "classes.jar" || library.is_some_and(|name| !name.contains('/'))
}
