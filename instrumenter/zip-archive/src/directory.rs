//! The central directory of a zip file, parsed and checked.
//!
//! ```text
//! [prefix] { local header, data, [descriptor] }... | central header... | [zip64 end, locator] end comment
//!            ^ found through the central headers     ^ what counts, as for the JVM
//! ```
//!
//! Sizes, checksums and names are those of the central headers; the local headers give only the position of the data
//! and the extra fields. A directory that contradicts the bytes it describes is refused with the offset of the
//! contradiction; so are overlapping entries, with which a small file could inflate to a huge one.

use core::ops::Range;

use crate::records::{
    Attributes, CENTRAL, CENTRAL_LENGTH, CentralHeader, END_LENGTH, EndRecord, LOCAL_LENGTH, Malformed,
    Stored, end_records, likeliest_end, local_lengths, malformed,
};

/// An entry. Ranges are positions in the archive; sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Entry {
    #[allow(missing_docs)]
    pub attributes: Attributes,
    #[allow(missing_docs)]
    pub stored: Stored,
    /// Name in the central header.
    pub name: Range<usize>,
    /// Extra fields of the central header.
    pub extra: Range<usize>,
    /// Comment of the central header.
    pub comment: Range<usize>,
    /// Position of the local header.
    pub local_at: usize,
    /// Name in the local header, which may be another.
    pub local_name: Range<usize>,
    /// Extra fields of the local header.
    pub local_extra: Range<usize>,
    /// The compressed bytes.
    pub data: Range<usize>,
}

impl Entry {
    /// Returns the name, in the archive that it was read from.
    #[must_use]
    pub fn name_in<'a>(&self, archive: &'a [u8]) -> &'a [u8] {
        archive.get(self.name.clone()).unwrap_or_default()
    }

    /// Returns the compressed bytes, in the archive that it was read from.
    #[must_use]
    pub fn data_in<'a>(&self, archive: &'a [u8]) -> &'a [u8] {
        archive.get(self.data.clone()).unwrap_or_default()
    }
}

/// The central directory of an archive.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// In the order of the central headers.
    pub entries: Vec<Entry>,
    /// Bytes before the first entry, such as the script of a self-executing jar.
    pub prefix: usize,
    /// Where the central headers lie.
    pub central: Central,
    /// Whether an APK signing block precedes the central headers.
    pub signing_block: bool,
}

/// The position of the central headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Central {
    /// Position of the first.
    pub start: usize,
    /// Position behind the last, and of the end record or the zip64 end record.
    pub end: usize,
    /// The difference between real and recorded offsets, if something was prepended to the archive.
    pub shift: usize,
    /// Whether the end record leaves a value to a zip64 end record.
    pub is_zip64: bool,
    /// The archive's comment. Bytes after it are not part of the archive and are not copied, because another reader
    /// might take them for its end.
    pub comment: Range<usize>,
    /// The number of entries, or its low 16 bits.
    count: u64,
    counts_16_bits: bool,
}

impl Directory {
    /// Reads the directory of `bytes`.
    ///
    /// # Errors
    ///
    /// A directory that is damaged or contradicts the local headers, entries that overlap, and archives of several parts.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let central = find_central(bytes)?;
        let most = central.end.saturating_sub(central.start) / CENTRAL_LENGTH;
        let mut entries = Vec::with_capacity(most.min(usize::try_from(central.count).unwrap_or(most)));
        let mut at = central.start;
        while at < central.end {
            let (entry, next) = central_header(bytes, at, &central)?;
            entries.push(entry);
            at = next;
        }
        let count = entries.len() as u64;
        let counted = if central.counts_16_bits { count & 0xFFFF } else { count };
        if counted != central.count {
            return Err(malformed(central.end as u64, "the number of entries differs from the directory's"));
        }
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by_key(|entry| entry.local_at);
        let mut free = 0;
        for entry in &order {
            if entry.local_at < free {
                return Err(malformed(entry.local_at as u64, "two entries overlap"));
            }
            free = entry.data.end;
        }
        let prefix = order.first().map_or(central.start, |entry| entry.local_at);
        let before = bytes.get(..central.start).unwrap_or_default();
        Ok(Self { entries, prefix, signing_block: before.ends_with(b"APK Sig Block 42"), central })
    }
}

fn find_central(bytes: &[u8]) -> Result<Central, Malformed> {
    let fits = |&(_, end): &(usize, usize)| end == bytes.len();
    let likeliest = likeliest_end(bytes);
    let ends = || end_records(bytes);
    let all = ends().filter(fits).chain(ends().filter(|&(_, end)| end < bytes.len()));
    let mut found = Err(malformed(bytes.len() as u64, "no end of a zip directory"));
    // Each candidate costs one check, but a hostile file could consist of them.
    for (at, _) in all.take(16) {
        match Central::before(bytes, at) {
            Ok(central) => return Ok(central),
            Err(error) if likeliest == Some(at) => found = Err(error),
            Err(_) => {}
        }
    }
    found
}

impl Central {
    /// Returns the position of the central headers by the end record at `end_at`.
    ///
    /// # Errors
    ///
    /// A record that is damaged or contradicts itself, and archives of several parts.
    pub fn before(bytes: &[u8], end_at: usize) -> Result<Self, Malformed> {
        let record = EndRecord::read(end_at as u64, |at, length| {
            Some(bytes.get(usize::try_from(at).ok()?..)?.get(..length)?.to_vec())
        })?;
        // All of it is in `bytes`, so the positions fit.
        let (start, shift) = record.start()?;
        let (start, end, shift) = (start as usize, record.end as usize, shift as usize);
        if start < end && !bytes.get(start..).is_some_and(|headers| headers.starts_with(&CENTRAL)) {
            return Err(malformed(start as u64, "no central header at the start of the directory"));
        }
        let comment = end_at + END_LENGTH..end_at + END_LENGTH + usize::from(record.comment_length);
        let EndRecord { count, counts_16_bits, is_zip64, .. } = record;
        Ok(Self { start, end, shift, is_zip64, count, counts_16_bits, comment })
    }
}

fn central_header(bytes: &[u8], at: usize, central: &Central) -> Result<(Entry, usize), Malformed> {
    let wrong = |what| Malformed { at, what };
    let header = bytes.get(at..central.end).unwrap_or_default();
    let header = CentralHeader::read(header).map_err(wrong)?;
    let name = at + CENTRAL_LENGTH..at + CENTRAL_LENGTH + header.name.len();
    let extra = name.end..name.end + header.extra.len();
    let comment = extra.end..extra.end + header.comment.len();
    let local_at = usize::try_from(header.local).ok().and_then(|local| local.checked_add(central.shift));
    let local_at = local_at.filter(|&local| local < central.start);
    let local_at = local_at.ok_or_else(|| wrong("an entry is outside the file"))?;
    let wrong = |what| Malformed { at: local_at, what };
    let lengths = bytes.get(local_at..).and_then(local_lengths);
    let (local_name, local_extra) = lengths.ok_or_else(|| wrong("no local header of an entry"))?;
    let local_name = local_at + LOCAL_LENGTH..local_at + LOCAL_LENGTH + local_name;
    let local_extra = local_name.end..local_name.end + local_extra;
    let length = usize::try_from(header.stored.compressed).ok();
    let data_end = length.and_then(|length| local_extra.end.checked_add(length));
    let data_end = data_end.filter(|&end| end <= central.start);
    let data_end = data_end.ok_or_else(|| wrong("an entry extends into the directory"))?;
    let entry = Entry {
        attributes: header.attributes,
        stored: header.stored,
        data: local_extra.end..data_end,
        name,
        extra,
        comment,
        local_at,
        local_name,
        local_extra,
    };
    Ok((entry, at + header.length()))
}
