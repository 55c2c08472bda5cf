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

use super::fields::{Extra, u16_at, u32_at, u64_at};

/// An offset in the archive, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub(crate) struct Broken {
    pub(crate) offset: u64,
    pub(crate) what: &'static str,
}

fn broken(offset: usize, what: &'static str) -> Broken {
    Broken { offset: offset as u64, what }
}

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const ZIP64_END: u32 = 0x0606_4b50;
const ZIP64_LOCATOR: u32 = 0x0706_4b50;
const END_LENGTH: usize = 22;
const ZIP64_LOCATOR_LENGTH: usize = 20;

/// Flag: the data is encrypted.
pub(crate) const ENCRYPTED: u16 = 1;
/// Flag: checksum and sizes follow the data.
pub(crate) const DESCRIPTOR: u16 = 1 << 3;
/// Flag: name and comment are UTF-8.
pub(crate) const UTF8: u16 = 1 << 11;
/// Method: stored.
pub(crate) const STORED: u16 = 0;
/// Method: deflate.
pub(crate) const DEFLATED: u16 = 8;

/// An entry. Ranges are positions in the archive.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) made_by: u16,
    pub(crate) needed: u16,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    /// MS-DOS time and date, unchanged.
    pub(crate) time: [u8; 4],
    pub(crate) crc: u32,
    pub(crate) size: u64,
    pub(crate) internal: u16,
    pub(crate) external: u32,
    pub(crate) name: Range<usize>,
    pub(crate) extra: Range<usize>,
    pub(crate) comment: Range<usize>,
    pub(crate) local_at: usize,
    pub(crate) local_extra: Range<usize>,
    /// The compressed bytes.
    pub(crate) data: Range<usize>,
}

impl Entry {
    pub(crate) fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }
}

/// The central directory of an archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    pub(crate) entries: Vec<Entry>,
    /// Bytes before the first entry, such as the script of a self-executing jar.
    pub(crate) prefix: usize,
    /// The archive's comment. Bytes after it are not part of the archive and are not copied, because another reader
    /// might take them for its end.
    pub(crate) comment: Range<usize>,
    /// Whether an APK signing block precedes the central headers.
    pub(crate) signing_block: bool,
}

/// The position of the central headers.
struct Central {
    start: usize,
    end: usize,
    /// The difference between real and recorded offsets, if something was prepended to the archive.
    shift: usize,
    /// The number of entries, or its low 16 bits.
    count: u64,
    counts_16_bits: bool,
    comment: Range<usize>,
}

impl Directory {
    /// Reads the directory of `bytes`.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Broken> {
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
            return Err(broken(central.end, "the number of entries differs from the directory's"));
        }
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by_key(|entry| entry.local_at);
        let mut free = 0;
        for entry in &order {
            if entry.local_at < free {
                return Err(broken(entry.local_at, "two entries overlap"));
            }
            free = entry.data.end;
        }
        let prefix = order.first().map_or(central.start, |entry| entry.local_at);
        let before = bytes.get(..central.start).unwrap_or_default();
        Ok(Self {
            entries,
            prefix,
            comment: central.comment,
            signing_block: before.ends_with(b"APK Sig Block 42"),
        })
    }
}

fn find_central(bytes: &[u8]) -> Result<Central, Broken> {
    let no_end = || broken(bytes.len(), "no end of a zip directory");
    let last = bytes.len().checked_sub(END_LENGTH).ok_or_else(no_end)?;
    // A comment may contain 65,535 arbitrary bytes, so the right end record is the one whose comment ends the file.
    // Otherwise a copier may have appended something.
    let first = last.saturating_sub(0xFFFF);
    let comment_end = |at: usize| {
        let length = u16_at(bytes, at + 20)?;
        (u32_at(bytes, at) == Some(END)).then_some(at + END_LENGTH + usize::from(length))
    };
    let ends = || (first..=last).rev().filter_map(|at| Some((at, comment_end(at)?)));
    let fits = |&(_, end): &(usize, usize)| end == bytes.len();
    let likeliest = ends().find(fits).or_else(|| ends().next());
    let all = ends().filter(fits).chain(ends().filter(|&(_, end)| end < bytes.len()));
    let mut found = Err(no_end());
    // Each candidate costs one check, but a hostile file could consist of them.
    for (at, _) in all.take(16) {
        match central_before(bytes, at) {
            Ok(central) => return Ok(central),
            Err(error) if likeliest.is_some_and(|(likeliest, _)| likeliest == at) => found = Err(error),
            Err(_) => {}
        }
    }
    found
}

fn central_before(bytes: &[u8], end_at: usize) -> Result<Central, Broken> {
    let cut = || broken(end_at, "the end record is truncated");
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
        let wrong = || broken(locator, "the locator does not lead to a zip64 end record");
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
        return Err(broken(end_at, "a part of a multi-disk archive"));
    }
    let start = usize::try_from(length).ok().and_then(|length| end.checked_sub(length));
    let start = start.ok_or_else(|| broken(end_at, "the directory is longer than the file"))?;
    let shift = usize::try_from(offset).ok().and_then(|offset| start.checked_sub(offset));
    let shift = shift.ok_or_else(|| broken(end_at, "the directory starts after its own end"))?;
    if start < end && u32_at(bytes, start) != Some(CENTRAL) {
        return Err(broken(start, "no central header at the start of the directory"));
    }
    let comment = end_at + END_LENGTH..end_at + END_LENGTH + usize::from(comment_length);
    Ok(Central { start, end, shift, count, counts_16_bits, comment })
}

fn central_header(bytes: &[u8], at: usize, central: &Central) -> Result<(Entry, usize), Broken> {
    let cut = || broken(at, "a central header is truncated");
    let header = bytes.get(at..central.end).ok_or_else(cut)?;
    if u32_at(header, 0) != Some(CENTRAL) {
        return Err(broken(at, "no central header"));
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
    let extra_fields = Extra::new(bytes.get(extra.clone()).unwrap_or_default());
    if let Some(mut large) = extra_fields.zip64().filter(|_| saturated) {
        // Contains only the values that do not fit above, in this order.
        for value in [&mut size, &mut compressed, &mut local] {
            if *value == 0xFFFF_FFFF {
                *value = u64_at(large, 0).ok_or_else(|| broken(at, "a zip64 field is truncated"))?;
                large = large.get(8..).unwrap_or_default();
            }
        }
    }
    if disk != 0 && disk != 0xFFFF {
        return Err(broken(at, "an entry on another disk"));
    }
    let local_at = usize::try_from(local).ok().and_then(|local| local.checked_add(central.shift));
    let local_at = local_at.filter(|&local| local < central.start);
    let local_at = local_at.ok_or_else(|| broken(at, "an entry is outside the file"))?;
    let wrong = || broken(local_at, "no local header of an entry");
    if u32_at(bytes, local_at) != Some(LOCAL) {
        return Err(wrong());
    }
    let local_name = usize::from(u16_at(bytes, local_at + 26).ok_or_else(wrong)?);
    let local_extra = usize::from(u16_at(bytes, local_at + 28).ok_or_else(wrong)?);
    let local_extra = local_at + 30 + local_name..local_at + 30 + local_name + local_extra;
    let data_end = usize::try_from(compressed).ok().and_then(|length| local_extra.end.checked_add(length));
    let data_end = data_end.filter(|&end| end <= central.start);
    let data_end = data_end.ok_or_else(|| broken(local_at, "an entry extends into the directory"))?;
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
        local_extra,
    };
    Ok((entry, comment.end))
}
