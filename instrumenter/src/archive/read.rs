//! Opening an archive and scanning its classes.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use zip_archive::{Directory, Inflater, Unreadable, crc32};

use super::{Archive, EntryAction};
use crate::cache::Item;
use crate::class::class_file::MAX_CLASS;
use crate::error::{Error, SkipReason};
use crate::map_id_class;
use crate::read_file::MAX_NESTED;
use crate::scan::scan_class;
use crate::session::{Scanned, Session};
use crate::stamp::{Stamp, Sum};
use crate::summary::Warning;

impl Archive {
    /// Opens `bytes`, the content of the input `path` or of a jar inside it.
    pub(crate) fn open(
        path: &Path,
        prefix: String,
        bytes: Vec<u8>,
        session: &mut Session<'_>,
    ) -> Result<Self, Error> {
        let mut archive = Self::outline(path, prefix, bytes)?;
        if archive.directory.signing_block {
            let entry = format!("{}(the APK signing block)", archive.prefix);
            session.warn(path, Warning::SignatureDropped(entry));
        }
        archive.drop_duplicates(session);
        Ok(archive)
    }

    /// Reads the directory of `bytes`; every entry is to be copied.
    pub(crate) fn outline(path: &Path, prefix: String, bytes: Vec<u8>) -> Result<Self, Error> {
        let archive = prefix.trim_end_matches("!/");
        let directory = Directory::read(&bytes).map_err(|error| Error::NotAnArchive {
            path: if archive.is_empty() {
                path.into()
            } else {
                format!("{}!/{archive}", path.display()).into()
            },
            reason: error.to_string(),
        })?;
        let actions = directory.entries.iter().map(|_| EntryAction::Copy).collect();
        Ok(Self { path: path.into(), prefix, bytes, directory, actions, items: Vec::new() })
    }

    /// A JVM can reach only the last of several entries with the same name, so only that one is kept.
    fn drop_duplicates(&mut self, session: &mut Session<'_>) {
        let mut last = HashMap::with_capacity(self.actions.len());
        let mut hidden = Vec::new();
        for (index, entry) in self.directory.entries.iter().enumerate() {
            if let Some(before) = last.insert(entry.name_in(&self.bytes), index) {
                hidden.push(before);
            }
        }
        if hidden.is_empty() {
            return;
        }
        let archive = self.prefix.trim_end_matches("!/").to_owned();
        session.warn(&self.path, Warning::DuplicateEntries { archive });
        hidden.into_iter().for_each(|index| self.set_action(index, EntryAction::Drop));
    }

    fn read_entry(&self, inflater: &mut Inflater, index: usize, limit: u64) -> Result<Vec<u8>, SkipReason> {
        let entry = self.directory.entries.get(index);
        let entry = entry.ok_or(Unreadable::Size)?;
        Ok(inflater.read(&self.bytes, entry, limit)?.into_owned())
    }

    /// Decides what is done with each entry, and scans the classes.
    pub(crate) fn scan(&mut self, session: &mut Session<'_>) -> Result<(), Error> {
        let is_aar = self.prefix.is_empty()
            && self.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("aar"));
        let mut classes = Vec::new();
        for index in 0..self.actions.len() {
            if matches!(self.actions.get(index), Some(EntryAction::Drop)) {
                continue;
            }
            let name = self.name(index);
            if leaves_its_directory(&name) {
                session.warn(&self.path, Warning::EscapingName(self.entry_name(index)));
            }
            let action = if name.ends_with(map_id_class::ENTRY) {
                session.warn(&self.path, Warning::OldMapId(self.entry_name(index)));
                EntryAction::Drop
            } else if name.ends_with(".class") {
                classes.push(index);
                continue;
            } else if is_aar && is_jar_of_aar(&name) {
                let bytes = self.read_entry(&mut Inflater::default(), index, MAX_NESTED);
                let bytes = bytes.map_err(|reason| self.entry_error(index, &reason))?;
                let mut inner = Self::open(&self.path, format!("{name}!/"), bytes, session)?;
                inner.scan(session)?;
                self.items.append(&mut inner.items);
                EntryAction::Archive(Box::new(inner))
            } else if name.ends_with(".jar") {
                session.warn(&self.path, Warning::NestedJar(self.entry_name(index)));
                continue;
            } else {
                continue;
            };
            self.set_action(index, action);
        }
        self.scan_classes(&classes, session);
        Ok(())
    }

    fn scan_classes(&mut self, classes: &[usize], session: &mut Session<'_>) {
        let mut places = Vec::new();
        if session.is_cached() {
            let known = &mut session.known;
            places.extend(classes.iter().map(|&index| known.place(&self.entry_name(index))));
        }
        let place = |at: usize| places.get(at).copied().flatten();
        let known = &session.known;
        let scan = |inflater: &mut Inflater, at: usize, index: usize| {
            let mut sum = Sum::default();
            if session.is_cached() {
                sum = self.sum_of(index);
                let before = known.get(place(at)).filter(|before| before.class.is_some() && !before.again);
                if before.is_some_and(|before| before.sum == sum) {
                    return (Scanned::Known, None);
                }
            }
            let clocks = &session.clocks;
            let mut kept = None;
            let bytes = clocks.inflate.time(|| self.read_entry(inflater, index, MAX_CLASS));
            let found = bytes.and_then(|bytes| {
                let facts = clocks.parse.time(|| scan_class(&bytes, &session.selection))?;
                kept = session.keeps(bytes.len()).then_some(bytes);
                Ok(Box::new(facts))
            });
            (Scanned::New(sum, found), kept)
        };
        let scanned: Vec<_> = session.pool.install(|| {
            let each = classes.par_iter().enumerate().with_min_len(16);
            each.map_init(Inflater::default, |inflater, (at, &index)| scan(inflater, at, index)).collect()
        });
        for (at, (&index, (scanned, bytes))) in classes.iter().zip(scanned).enumerate() {
            let name = || self.entry_name(index);
            let (sum, class) = session.add_scanned(&self.path, name, place(at), scanned);
            if session.is_cached() {
                self.items.push(Item {
                    name: self.entry_name(index),
                    stamp: Stamp::NONE,
                    output: Stamp::NONE,
                    sum,
                    is_class: true,
                    class,
                    ..Item::default()
                });
            }
            if let Some(number) = class {
                self.set_action(index, EntryAction::Class { number, bytes });
            }
        }
    }

    /// Returns what identifies an entry. The CRC is the one in the directory; an entry with a wrong CRC is never
    /// reused, because it could not be inflated.
    fn sum_of(&self, index: usize) -> Sum {
        let Some(entry) = self.directory.entries.get(index) else { return Sum::default() };
        let data = entry.data_in(&self.bytes);
        Sum {
            first: crc32(data),
            second: entry.stored.crc,
            length: data.len() as u64 | u64::from(entry.stored.method) << 48,
        }
    }

    fn set_action(&mut self, index: usize, action: EntryAction) {
        if let Some(slot) = self.actions.get_mut(index) {
            *slot = action;
        }
    }
}

/// Returns whether the entry is `classes.jar` or a library in an aar.
fn is_jar_of_aar(entry: &str) -> bool {
    let library = entry.strip_prefix("libs/").and_then(|file| file.strip_suffix(".jar"));
    entry == "classes.jar" || library.is_some_and(|name| !name.contains('/'))
}

/// Returns whether a careless program would unpack the entry outside the target directory.
fn leaves_its_directory(entry: &str) -> bool {
    let drive = entry.as_bytes().get(1) == Some(&b':');
    entry.starts_with(['/', '\\']) || drive || entry.split(['/', '\\']).any(|part| part == "..")
}
