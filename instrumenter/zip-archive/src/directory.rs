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

use crate::fields::{u16_at, u32_at, u64_at, zip64};

/// Bytes that are not a valid archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct Malformed {
    /// Offset in the archive, in bytes.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

fn malformed(at: usize, what: &'static str) -> Malformed {
    Malformed { at, what }
}

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
/// The mark of an end record.
pub const END: [u8; 4] = *b"PK\x05\x06";
/// The length of a local header without name and extra fields, in bytes.
pub const LOCAL_LENGTH: usize = 30;
const ZIP64_END: u32 = 0x0606_4b50;
const ZIP64_LOCATOR: u32 = 0x0706_4b50;
const END_LENGTH: usize = 22;
const ZIP64_LOCATOR_LENGTH: usize = 20;

/// Flag: the data is encrypted.
pub(crate) const ENCRYPTED: u16 = 1;
/// Flag: checksum and sizes follow the data.
pub const DESCRIPTOR: u16 = 1 << 3;
/// Flag: name and comment are UTF-8.
pub const UTF8: u16 = 1 << 11;
/// Method: stored.
pub const STORED: u16 = 0;
/// Method: deflate.
pub const DEFLATED: u16 = 8;

/// An entry. Ranges are positions in the archive; sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Entry {
    /// "Version made by": format version and operating system.
    pub made_by: u16,
    /// "Version needed to extract".
    pub needed: u16,
    /// General purpose flags.
    pub flags: u16,
    /// The compression method.
    pub method: u16,
    /// MS-DOS time and date, unchanged.
    pub time: [u8; 4],
    /// CRC-32 of the contents.
    pub crc: u32,
    /// Size of the contents, as the archive claims it.
    pub size: u64,
    /// Internal attributes.
    pub internal: u16,
    /// External attributes, such as a file mode.
    pub external: u32,
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
    /// Returns whether the flags say that the data is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }

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
        let most = central.end.saturating_sub(central.start) / 46;
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
            return Err(malformed(central.end, "the number of entries differs from the directory's"));
        }
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by_key(|entry| entry.local_at);
        let mut free = 0;
        for entry in &order {
            if entry.local_at < free {
                return Err(malformed(entry.local_at, "two entries overlap"));
            }
            free = entry.data.end;
        }
        let prefix = order.first().map_or(central.start, |entry| entry.local_at);
        let before = bytes.get(..central.start).unwrap_or_default();
        Ok(Self { entries, prefix, signing_block: before.ends_with(b"APK Sig Block 42"), central })
    }
}

/// Returns the positions of the end records in `bytes`, each with the end of its comment, the last first.
pub fn end_records(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let ends = bytes.len().checked_sub(END_LENGTH).map(|last| last.saturating_sub(0xFFFF)..=last);
    let comment_end = |at: usize| {
        let length = u16_at(bytes, at + 20)?;
        bytes.get(at..)?.starts_with(&END).then_some(at + END_LENGTH + usize::from(length))
    };
    ends.into_iter().flatten().rev().filter_map(move |at| Some((at, comment_end(at)?)))
}

fn find_central(bytes: &[u8]) -> Result<Central, Malformed> {
    // A comment may contain 65,535 arbitrary bytes, so the right end record is the one whose comment ends the file.
    // Otherwise a copier may have appended something.
    let ends = || end_records(bytes);
    let fits = |&(_, end): &(usize, usize)| end == bytes.len();
    let likeliest = ends().find(fits).or_else(|| ends().next());
    let all = ends().filter(fits).chain(ends().filter(|&(_, end)| end < bytes.len()));
    let mut found = Err(malformed(bytes.len(), "no end of a zip directory"));
    // Each candidate costs one check, but a hostile file could consist of them.
    for (at, _) in all.take(16) {
        match Central::before(bytes, at) {
            Ok(central) => return Ok(central),
            Err(error) if likeliest.is_some_and(|(likeliest, _)| likeliest == at) => found = Err(error),
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
        let cut = || malformed(end_at, "the end record is truncated");
        let short = |offset| u16_at(bytes, end_at + offset).ok_or_else(cut);
        let word = |offset| u32_at(bytes, end_at + offset).map(u64::from).ok_or_else(cut);
        let (mut disk, mut count, mut length, mut offset) =
            (u32::from(short(4)?), u64::from(short(10)?), word(12)?, word(16)?);
        let comment_length = short(20)?;
        let mut end = end_at;
        let mut counts_16_bits = true;
        let saturated = count == 0xFFFF || length == 0xFFFF_FFFF || offset == 0xFFFF_FFFF;
        let locator = end_at.checked_sub(ZIP64_LOCATOR_LENGTH);
        if let Some(locator) = locator.filter(|&at| saturated && u32_at(bytes, at) == Some(ZIP64_LOCATOR)) {
            let wrong = || malformed(locator, "the locator does not lead to a zip64 end record");
            let recorded = u64_at(bytes, locator + 8).and_then(|at| usize::try_from(at).ok());
            let is_end = |at: &usize| u32_at(bytes, *at) == Some(ZIP64_END) && *at < locator;
            // It is written right before the locator, and stays there if something is prepended to the archive.
            let at = locator.checked_sub(56).filter(is_end).or(recorded.filter(is_end)).ok_or_else(wrong)?;
            let word = |offset| u64_at(bytes, at + offset).ok_or_else(wrong);
            disk = u32_at(bytes, at + 16).ok_or_else(wrong)?;
            (count, length, offset) = (word(32)?, word(40)?, word(48)?);
            end = at;
            counts_16_bits = false;
        }
        if disk != 0 {
            return Err(malformed(end_at, "a part of a multi-disk archive"));
        }
        let start = usize::try_from(length).ok().and_then(|length| end.checked_sub(length));
        let start = start.ok_or_else(|| malformed(end_at, "the directory is longer than the file"))?;
        let shift = usize::try_from(offset).ok().and_then(|offset| start.checked_sub(offset));
        let shift = shift.ok_or_else(|| malformed(end_at, "the directory starts after its own end"))?;
        if start < end && u32_at(bytes, start) != Some(CENTRAL) {
            return Err(malformed(start, "no central header at the start of the directory"));
        }
        let comment = end_at + END_LENGTH..end_at + END_LENGTH + usize::from(comment_length);
        Ok(Self { start, end, shift, is_zip64: saturated, count, counts_16_bits, comment })
    }
}

fn central_header(bytes: &[u8], at: usize, central: &Central) -> Result<(Entry, usize), Malformed> {
    let cut = || malformed(at, "a central header is truncated");
    let header = bytes.get(at..central.end).ok_or_else(cut)?;
    if u32_at(header, 0) != Some(CENTRAL) {
        return Err(malformed(at, "no central header"));
    }
    let short = |offset| u16_at(header, offset).ok_or_else(cut);
    let word = |offset| u32_at(header, offset).ok_or_else(cut);
    let lengths = [short(28)?, short(30)?, short(32)?].map(usize::from);
    let name = at + 46..at + 46 + lengths[0];
    let extra = name.end..name.end + lengths[1];
    let comment = extra.end..extra.end + lengths[2];
    if comment.end > central.end {
        return Err(cut());
    }
    let (mut compressed, mut size) = (u64::from(word(20)?), u64::from(word(24)?));
    let (mut local, disk) = (u64::from(word(42)?), short(34)?);
    let saturated = compressed == 0xFFFF_FFFF || size == 0xFFFF_FFFF || local == 0xFFFF_FFFF;
    let extra_fields = bytes.get(extra.clone()).unwrap_or_default();
    if let Some(mut large) = zip64(extra_fields).filter(|_| saturated) {
        // Contains only the values that do not fit above, in this order.
        for value in [&mut size, &mut compressed, &mut local] {
            if *value == 0xFFFF_FFFF {
                *value = u64_at(large, 0).ok_or_else(|| malformed(at, "a zip64 field is truncated"))?;
                large = large.get(8..).unwrap_or_default();
            }
        }
    }
    if disk != 0 && disk != 0xFFFF {
        return Err(malformed(at, "an entry on another disk"));
    }
    let local_at = usize::try_from(local).ok().and_then(|local| local.checked_add(central.shift));
    let local_at = local_at.filter(|&local| local < central.start);
    let local_at = local_at.ok_or_else(|| malformed(at, "an entry is outside the file"))?;
    let wrong = || malformed(local_at, "no local header of an entry");
    if u32_at(bytes, local_at) != Some(LOCAL) {
        return Err(wrong());
    }
    let local_length = |offset| u16_at(bytes, local_at + offset).map(usize::from).ok_or_else(wrong);
    let local_name = local_at + LOCAL_LENGTH..local_at + LOCAL_LENGTH + local_length(26)?;
    let local_extra = local_name.end..local_name.end + local_length(28)?;
    let data_end = usize::try_from(compressed).ok().and_then(|length| local_extra.end.checked_add(length));
    let data_end = data_end.filter(|&end| end <= central.start);
    let data_end = data_end.ok_or_else(|| malformed(local_at, "an entry extends into the directory"))?;
    let entry = Entry {
        made_by: short(4)?,
        needed: short(6)?,
        flags: short(8)?,
        method: short(10)?,
        time: word(12)?.to_le_bytes(),
        crc: word(16)?,
        size,
        internal: short(36)?,
        external: word(38)?,
        data: local_extra.end..data_end,
        name,
        extra,
        comment: comment.clone(),
        local_at,
        local_name,
        local_extra,
    };
    Ok((entry, comment.end))
}
