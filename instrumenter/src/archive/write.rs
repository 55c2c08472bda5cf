//! Writing an archive: chunks of entries are built in parallel and written in order.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::ops::Range;

use rayon::ThreadPool;
use zip_archive::{
    DEFLATED, Deflater, Directory, Entry, Inflater, Label, STORED, Stored, crc32, is_signature, push_central,
    push_end, push_local,
};

use super::in_order::{Written, write_in_order};
use super::{Archive, EntryAction};
use crate::class::class_file::MAX_CLASS;
use crate::error::{Error, SkipReason};
use crate::map_id_class;
use crate::method_map::MethodMap;
use crate::rewrite::{Rewritten, rewrite_with_focus};
use crate::session::Session;
use crate::summary::Warning;

/// A chunk ends after the entry with which its content reaches this many bytes, ...
const CHUNK: u64 = 128 << 10;
/// ... or after this many entries. Few enough to balance the load, many enough to make scheduling cheap.
const CHUNK_ENTRIES: usize = 64;

/// The buffers that a thread reuses for each entry.
pub(crate) struct Worker {
    inflater: Inflater,
    deflater: Deflater,
}

/// The number of the class, the index of the method in it, and the reason.
pub(crate) type Skipped = Vec<(usize, Option<usize>, SkipReason)>;

/// A written entry: its position in the chunk, and how it is stored.
struct Placed {
    index: usize,
    at: u64,
    stored: Stored,
}

/// The result of building a chunk.
#[derive(Default)]
struct Note {
    placed: Vec<Placed>,
    changed: usize,
    skipped: Skipped,
}

/// An archive that is being written.
struct Output<W> {
    out: W,
    at: u64,
    /// The central headers written so far.
    central: Vec<u8>,
    entries: u64,
}

impl<W: Write> Output<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn add(&mut self, name: &str, contents: &[u8], deflater: &mut Deflater) -> std::io::Result<()> {
        let label = Label::new(name.as_bytes());
        let mut bytes = Vec::new();
        let stored = push_fresh(&label, 0, contents, deflater, &mut bytes);
        push_central(&label, &stored, self.at, &mut self.central);
        self.entries += 1;
        self.write(&bytes)
    }

    /// Writes the central directory.
    fn finish(mut self, comment: &[u8]) -> std::io::Result<W> {
        let mut end = core::mem::take(&mut self.central);
        let length = end.len() as u64;
        push_end(self.entries, length, self.at, comment, &mut end);
        self.write(&end)?;
        Ok(self.out)
    }
}

/// Appends local header and data of new content.
fn push_fresh(
    label: &Label<'_>,
    flags: u16,
    contents: &[u8],
    deflater: &mut Deflater,
    out: &mut Vec<u8>,
) -> Stored {
    let size = contents.len() as u64;
    let start = out.len();
    let unknown = Stored::fresh(flags, STORED, 0, 0, size);
    push_local(label, &unknown, out);
    let data = out.len();
    let deflated = deflater.deflate(contents);
    out.extend_from_slice(deflated.unwrap_or(contents));
    let method = if deflated.is_some() { DEFLATED } else { STORED };
    let stored = Stored::fresh(flags, method, crc32(contents), (out.len() - data) as u64, size);
    let mut header = Vec::with_capacity(data - start);
    push_local(label, &stored, &mut header);
    if let Some(slot) = out.get_mut(start..data) {
        slot.copy_from_slice(&header);
    }
    stored
}

impl Archive {
    /// Writes the archive to `out`. With `map_id` it adds the generated class, in an aar to the first jar. Unchanged
    /// classes are copied from `old`, the output of the previous run.
    pub(crate) fn write<W: Write + Send>(
        &self,
        out: W,
        old: Option<&Self>,
        map: &MethodMap,
        mut map_id: bool,
        session: &mut Session<'_>,
    ) -> Result<W, Error> {
        // The jars inside come first: all threads build each, and then it is an entry like any other.
        let mut inner = Vec::new();
        for (index, action) in self.actions.iter().enumerate() {
            if let EntryAction::Archive(archive) = action {
                let map_id = core::mem::take(&mut map_id);
                let bytes = archive.write(Cursor::new(Vec::new()), None, map, map_id, session)?.into_inner();
                inner.push((index, bytes));
            }
        }
        let level = session.options.level;
        let kept = self.entries_to_write(self.changes(map), session);
        let mut added = Deflater::new(level);
        let failed = |error: std::io::Error| self.failed(&error);
        let mut output = Output { out, at: 0, central: Vec::new(), entries: 0 };
        let Directory { prefix, central, .. } = &self.directory;
        let comment = self.bytes.get(central.comment.clone()).unwrap_or_default();
        output.write(self.bytes.get(..*prefix).unwrap_or_default()).map_err(failed)?;
        let shared: &Session<'_> = session;
        let old = old.map(Old::new);
        let make = |worker: &mut Worker, index: usize, note: &mut Note, out: &mut Vec<u8>| {
            self.make(worker, index, &inner, old.as_ref(), map, shared, note, out)
        };
        for note in self.write_entries(&mut output, session.pool, level, &kept, &make)? {
            session.note_written(map, note.changed, note.skipped);
        }
        if map_id {
            output
                .add(map_id_class::ENTRY, &map_id_class::bytes(map.texts().id), &mut added)
                .map_err(failed)?;
        }
        output.finish(comment).map_err(failed)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        let entry = format!("{}(the whole archive)", self.prefix);
        Error::Entry { path: self.path.clone(), entry, reason: error.to_string() }
    }

    fn changes(&self, map: &MethodMap) -> bool {
        self.actions.iter().any(|action| match action {
            EntryAction::Class { number, .. } => map.changes(*number),
            _ => false,
        })
    }

    /// Returns all entries but those that are dropped, and warns about dropped signatures.
    fn entries_to_write(&self, drops_signatures: bool, session: &mut Session<'_>) -> Vec<usize> {
        let mut kept = Vec::with_capacity(self.actions.len());
        for (index, (action, entry)) in self.actions.iter().zip(&self.directory.entries).enumerate() {
            if matches!(action, EntryAction::Drop) {
                continue;
            }
            if drops_signatures && is_signature(entry.name_in(&self.bytes)) {
                session.warn(&self.path, Warning::SignatureDropped(self.entry_name(index)));
            } else {
                kept.push(index);
            }
        }
        kept
    }

    /// Writes the entries with these indices in their original order, and their central headers in the order of the
    /// original directory.
    fn write_entries<W: Write + Send>(
        &self,
        output: &mut Output<W>,
        pool: &ThreadPool,
        level: u8,
        kept: &[usize],
        make: &(impl Fn(&mut Worker, usize, &mut Note, &mut Vec<u8>) + Sync),
    ) -> Result<Vec<Note>, Error> {
        let entry = |index: usize| self.directory.entries.get(index);
        let mut order = kept.to_vec();
        order.sort_by_key(|&index| entry(index).map(|entry| entry.local_at));
        let chunks = self.chunks(&order);
        let fill = |worker: &mut Worker, number: usize, out: &mut Vec<u8>| {
            let mut note = Note::default();
            for &index in chunks.get(number).and_then(|chunk| order.get(chunk.clone())).unwrap_or_default() {
                make(worker, index, &mut note, out);
            }
            note
        };
        let worker = || Worker { inflater: Inflater::default(), deflater: Deflater::new(level) };
        let written = write_in_order(pool, &mut output.out, output.at, chunks.len(), worker, fill);
        let Written { chunks: written, end } = written.map_err(|error| self.failed(&error))?;
        output.at = end;
        let mut places: Vec<Option<(u64, Stored)>> = vec![None; self.directory.entries.len()];
        for (start, note) in &written {
            for &Placed { index, at, stored } in &note.placed {
                if let Some(slot) = places.get_mut(index) {
                    *slot = Some((start + at, stored));
                }
            }
        }
        output.central.reserve(kept.len() * 96);
        output.entries += kept.len() as u64;
        for &index in kept {
            let place = places.get(index).copied().flatten();
            if let (Some(entry), Some((at, stored))) = (entry(index), place) {
                push_central(&Label::from_entry(&self.bytes, entry), &stored, at, &mut output.central);
            }
        }
        Ok(written.into_iter().map(|(_, note)| note).collect())
    }

    fn chunks(&self, order: &[usize]) -> Vec<Range<usize>> {
        let mut chunks = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (position, &index) in order.iter().enumerate() {
            let entry = self.directory.entries.get(index);
            bytes += entry.map_or(0, |entry| entry.stored.size.max(entry.stored.compressed));
            if bytes >= CHUNK || position + 1 - start >= CHUNK_ENTRIES {
                chunks.push(start..position + 1);
                (start, bytes) = (position + 1, 0);
            }
        }
        if start < order.len() {
            chunks.push(start..order.len());
        }
        chunks
    }

    #[expect(clippy::too_many_arguments, reason = "each is used once, and a struct of them would be no idea")]
    fn make(
        &self,
        worker: &mut Worker,
        index: usize,
        inner: &[(usize, Vec<u8>)],
        old: Option<&Old<'_>>,
        map: &MethodMap,
        session: &Session<'_>,
        note: &mut Note,
        out: &mut Vec<u8>,
    ) {
        let Some(entry) = self.directory.entries.get(index) else { return };
        let rewritten;
        let contents = match self.actions.get(index) {
            Some(EntryAction::Archive(_)) => {
                inner.iter().find(|(of, _)| *of == index).map(|(_, bytes)| bytes.as_slice())
            }
            Some(EntryAction::Class { number, bytes }) if map.changes(*number) => {
                if let Some((old, made)) = old.and_then(|old| {
                    let made = *old.by_name.get(entry.name_in(&self.bytes))?;
                    session.is_unchanged(*number, map).then_some((old, made))
                }) {
                    note.changed += 1;
                    return old.archive.push_copy(
                        index,
                        made,
                        Label::from_entry(&self.bytes, entry),
                        note,
                        out,
                    );
                }
                let (new, reasons) = match bytes {
                    Some(bytes) => rewritten_class(bytes, *number, map, session),
                    None => match worker.inflater.read(&self.bytes, entry, MAX_CLASS) {
                        Ok(bytes) => rewritten_class(&bytes, *number, map, session),
                        Err(reason) => (None, vec![(*number, None, reason.into())]),
                    },
                };
                note.skipped.extend(reasons);
                note.changed += usize::from(new.is_some());
                rewritten = new;
                rewritten.as_deref()
            }
            _ => None,
        };
        let label = Label::from_entry(&self.bytes, entry);
        let Some(contents) = contents else { return self.push_copy(index, entry, label, note, out) };
        let (at, deflater) = (out.len() as u64, &mut worker.deflater);
        let stored =
            session.clocks.deflate.time(|| push_fresh(&label, entry.stored.flags, contents, deflater, out));
        note.placed.push(Placed { index, at, stored });
    }

    /// Appends an entry of this archive under the name of entry `index` of the archive that is written.
    fn push_copy(&self, index: usize, entry: &Entry, label: Label<'_>, note: &mut Note, out: &mut Vec<u8>) {
        let (at, stored) = (out.len() as u64, Stored::copied(entry));
        push_local(&label, &stored, out);
        out.extend_from_slice(entry.data_in(&self.bytes));
        stored.push_descriptor(out);
        note.placed.push(Placed { index, at, stored });
    }
}

/// The output of the previous run, by entry names.
struct Old<'a> {
    archive: &'a Archive,
    by_name: HashMap<&'a [u8], &'a Entry>,
}

impl<'a> Old<'a> {
    fn new(archive: &'a Archive) -> Self {
        let entries = archive.directory.entries.iter();
        let by_name = entries.map(|entry| (entry.name_in(&archive.bytes), entry));
        Self { archive, by_name: by_name.collect() }
    }
}

/// Returns the new bytes of class `number`, if it changes, and what was skipped in it.
pub(crate) fn rewritten_class(
    bytes: &[u8],
    number: usize,
    map: &MethodMap,
    session: &Session<'_>,
) -> (Option<Vec<u8>>, Skipped) {
    let ids = session.ids(number, map);
    let rewrite = || rewrite_with_focus(bytes, &ids, map.change(number), session.rewriting(), None);
    let (rewritten, reason) = session.clocks.rewrite.time(rewrite);
    let Rewritten { bytes, skipped } = rewritten;
    let methods = skipped.into_iter().map(|(method, reason)| (number, Some(method), reason));
    (bytes, methods.chain(reason.map(|reason| (number, None, reason))).collect())
}
