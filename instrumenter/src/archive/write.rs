//! Writing an archive: parts of it side by side, then one behind the other.

use std::io::{Cursor, Seek, Write};

use rayon::prelude::*;
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::read::{MAX_CLASS, read_entry};
use super::{Archive, Entry, Fate, Reader, manifest, signature};
use crate::error::{Error, SkipReason};
use crate::map_id_class;
use crate::method_map::MethodMap;
use crate::rewrite::{Rewritten, rewrite_class};
use crate::run::Session;
use crate::summary::Warning;

/// Entries that one worker writes into a small archive of its own. Few enough to share the work
/// fairly, many enough that the compressor is set up seldom.
const PART: usize = 24;
/// Parts that are made while as many are appended.
const PARTS: usize = 16;

type Part = ZipArchive<Cursor<Vec<u8>>>;

/// What a part's writer has to tell.
struct Written {
    part: Part,
    changed: usize,
    skipped: Skipped,
}

/// Number of the class, index of the method in it, why it was left.
type Skipped = Vec<(usize, Option<usize>, SkipReason)>;

fn compressed(options: SimpleFileOptions, level: u8) -> SimpleFileOptions {
    match level {
        0 => options.compression_method(CompressionMethod::Stored).compression_level(None),
        level => {
            let level = i64::from(level.min(9));
            options.compression_method(CompressionMethod::Deflated).compression_level(Some(level))
        }
    }
}

impl Archive {
    /// Writes the archive to `out`. `map_id` adds the generated class: to the first jar of an aar.
    pub(crate) fn write<W: Write + Seek + Send>(
        &self,
        out: W,
        map: &MethodMap,
        mut map_id: bool,
        session: &mut Session<'_>,
    ) -> Result<W, Error> {
        let fresh = compressed(SimpleFileOptions::default(), session.options.level);
        let add = |out: &mut ZipWriter<W>, name: &str, options: SimpleFileOptions, bytes: &[u8]| {
            let added = out.start_file(name, options).and_then(|()| Ok(out.write_all(bytes)?));
            added.map_err(|error| self.failed(&error))
        };
        let mut out = ZipWriter::new(out);
        out.set_raw_comment(self.reader.comment().into()).map_err(|error| self.failed(&error))?;
        if let Some(manifest) = &self.new_manifest {
            add(&mut out, manifest::ENTRY, fresh, manifest)?;
        }
        let entries = self.entries_to_write(map, session);
        let mut rest = entries.as_slice();
        while let Some((&first, tail)) = rest.split_first() {
            if let Fate::Archive(inner) = &first.fate {
                let map_id = core::mem::take(&mut map_id);
                let bytes = inner.write(Cursor::new(Vec::new()), map, map_id, session)?.into_inner();
                let old = self.reader.by_index_data(first.index).map_err(|error| self.failed(&error))?;
                let options = old.last_modified().map_or(fresh, |time| fresh.last_modified_time(time));
                add(&mut out, &self.raw_name(first.index), options, &bytes)?;
                rest = tail;
            } else {
                let count = rest.iter().take_while(|entry| !matches!(entry.fate, Fate::Archive(_))).count();
                let (run, tail) = rest.split_at(count);
                self.write_run(&mut out, run, map, session)?;
                rest = tail;
            }
        }
        if map_id {
            add(&mut out, map_id_class::ENTRY, fresh, &map_id_class::bytes(map.id))?;
        }
        out.finish().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &zip::result::ZipError) -> Error {
        let entry = format!("{}(the whole archive)", self.prefix);
        Error::Entry { path: self.path.clone(), entry, reason: error.to_string() }
    }

    fn raw_name(&self, index: usize) -> String {
        self.reader.name_for_index(index).and_then(Result::ok).unwrap_or_default().into_owned()
    }

    /// All but what is dropped, which is said.
    fn entries_to_write(&self, map: &MethodMap, session: &mut Session<'_>) -> Vec<&Entry> {
        let changes = self.new_manifest.is_some()
            || self.entries.iter().any(|entry| match &entry.fate {
                Fate::Manifest(_) => true,
                Fate::Class { number, .. } => is_traced(map, *number),
                _ => false,
            });
        let mut kept = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            if changes && signature::is_signature(&self.raw_name(entry.index)) {
                session.warn(&self.path, Warning::SignatureDropped { entry: self.entry_name(entry.index) });
            } else if !matches!(entry.fate, Fate::Drop) {
                kept.push(entry);
            }
        }
        kept
    }

    /// Writes entries in parts. While one batch of parts is appended to `out`, which only one thread
    /// can do, the others are at the next.
    fn write_run<W: Write + Seek + Send>(
        &self,
        out: &mut ZipWriter<W>,
        entries: &[&Entry],
        map: &MethodMap,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        let mut ready: Vec<Result<Written, Error>> = Vec::new();
        let mut batches = entries.chunks(PART * PARTS);
        loop {
            let batch = batches.next().unwrap_or_default();
            if batch.is_empty() && ready.is_empty() {
                return Ok(());
            }
            let done = core::mem::take(&mut ready);
            let shared: &Session<'_> = session;
            let (appended, next) = session.pool.install(|| {
                rayon::join(
                    || self.append(out, done),
                    || batch.par_chunks(PART).map(|part| self.write_part(part, map, shared)).collect(),
                )
            });
            ready = next;
            for (changed, skipped) in appended? {
                session.note_written(map, changed, skipped);
            }
        }
    }

    fn append<W: Write + Seek>(
        &self,
        out: &mut ZipWriter<W>,
        parts: Vec<Result<Written, Error>>,
    ) -> Result<Vec<(usize, Skipped)>, Error> {
        let mut noted = Vec::with_capacity(parts.len());
        for part in parts {
            let Written { part, changed, skipped } = part?;
            out.merge_archive(part).map_err(|error| self.failed(&error))?;
            noted.push((changed, skipped));
        }
        Ok(noted)
    }

    fn write_part(
        &self,
        entries: &[&Entry],
        map: &MethodMap,
        session: &Session<'_>,
    ) -> Result<Written, Error> {
        let mut reader = self.reader.clone();
        let mut part = ZipWriter::new(Cursor::new(Vec::new()));
        let (mut changed, mut skipped) = (0, Vec::new());
        for entry in entries {
            let mut note = |number, reasons: Vec<(Option<usize>, SkipReason)>| {
                skipped.extend(reasons.into_iter().map(|(method, reason)| (number, method, reason)));
            };
            let new = match &entry.fate {
                Fate::Manifest(bytes) => Some(bytes.clone()),
                Fate::Class { number, bytes } if is_traced(map, *number) => {
                    let (new, reasons) =
                        rewritten(&mut reader, entry.index, bytes.as_deref(), *number, map, session);
                    note(*number, reasons);
                    changed += usize::from(new.is_some());
                    new
                }
                _ => None,
            };
            let written = match new {
                Some(bytes) => replace(&mut reader, entry.index, &bytes, session.options.level, &mut part),
                None => reader.by_index_raw(entry.index).and_then(|file| part.raw_copy_file(file)),
            };
            written.map_err(|error| self.entry_error(entry.index, &error))?;
        }
        let part = part.finish_into_readable();
        let first = entries.first().map_or(0, |entry| entry.index);
        Ok(Written { part: part.map_err(|error| self.entry_error(first, &error))?, changed, skipped })
    }
}

fn is_traced(map: &MethodMap, number: usize) -> bool {
    map.ids.get(number).is_some_and(|ids| ids.iter().any(|&id| id != 0))
}

type Reasons = Vec<(Option<usize>, SkipReason)>;

fn rewritten(
    reader: &mut Reader,
    index: usize,
    kept: Option<&[u8]>,
    number: usize,
    map: &MethodMap,
    session: &Session<'_>,
) -> (Option<Vec<u8>>, Reasons) {
    let read;
    let bytes = match kept {
        Some(bytes) => bytes,
        None => match read_entry(reader, index, MAX_CLASS) {
            Ok(bytes) => {
                read = bytes;
                &read
            }
            Err(reason) => return (None, vec![(None, reason)]),
        },
    };
    rewritten_class(bytes, number, map, session)
}

/// The new bytes of class `number`, if it changes, and what was left in it.
pub(crate) fn rewritten_class(
    bytes: &[u8],
    number: usize,
    map: &MethodMap,
    session: &Session<'_>,
) -> (Option<Vec<u8>>, Reasons) {
    let ids = map.ids.get(number).map(Vec::as_slice).unwrap_or_default();
    match rewrite_class(bytes, ids, &session.options.call_class, session.options.exits) {
        Ok(Rewritten { bytes, skipped }) => {
            (bytes, skipped.into_iter().map(|(method, reason)| (Some(method), reason)).collect())
        }
        Err(reason) => (None, vec![(None, reason)]),
    }
}

/// Writes `bytes` in the place of entry `index`, with its name, time and attributes.
fn replace(
    reader: &mut Reader,
    index: usize,
    bytes: &[u8],
    level: u8,
    out: &mut ZipWriter<Cursor<Vec<u8>>>,
) -> ZipResult<()> {
    let old = reader.by_index_raw(index)?;
    let options = compressed(old.options(), level).large_file(bytes.len() as u64 >= u64::from(u32::MAX));
    let name = old.name()?.into_owned();
    drop(old);
    out.start_file(name, options)?;
    Ok(out.write_all(bytes)?)
}
