//! Reading the entries of an APK.

use super::fields::{u16_at, u32_at};
use super::sections::Sections;
use super::{Data, Entry};

const CENTRAL: u32 = 0x0201_4b50;
const CENTRAL_LENGTH: usize = 46;
const LOCAL: u32 = 0x0403_4b50;
const LOCAL_LENGTH: usize = 30;

/// Bytes that are not a valid APK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct Malformed {
    /// Offset in the file, in bytes.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// An entry, and where its data starts.
pub(crate) struct Placed<'a> {
    pub(crate) entry: Entry<'a>,
    pub(crate) data_at: usize,
}

/// Reads the entries of `apk` in the order of the central directory. A signing block is not an entry.
///
/// # Errors
/// The central directory is damaged or contradicts the local headers, entries overlap, or the file has 64-bit sizes.
/// Overlapping entries are refused because a small file could inflate to a huge one.
pub fn read(apk: &[u8]) -> Result<Vec<Entry<'_>>, Malformed> {
    Ok(placed(apk)?.into_iter().map(|placed| placed.entry).collect())
}

pub(crate) fn placed(apk: &[u8]) -> Result<Vec<Placed<'_>>, Malformed> {
    let sections = Sections::find(apk)?;
    let most = (sections.end - sections.directory) / CENTRAL_LENGTH;
    let mut entries = Vec::with_capacity(most.min(usize::from(sections.count)));
    let mut at = sections.directory;
    let mut ranges = Vec::new();
    while at < sections.end {
        let found = central_header(apk, at, sections)?;
        ranges.push((found.local_at, found.data_end));
        entries.push(found.placed);
        at = found.next;
    }
    if entries.len() != usize::from(sections.count) {
        return Err(Malformed { at, what: "the number of entries differs from the end record's" });
    }
    ranges.sort_unstable();
    let overlap = ranges.windows(2).find_map(|pair| match pair {
        [(_, end), (next, _)] if next < end => Some(*next),
        _ => None,
    });
    overlap.map_or(Ok(entries), |at| Err(Malformed { at, what: "two entries overlap" }))
}

/// An entry of the central directory.
struct Found<'a> {
    placed: Placed<'a>,
    /// Offset of its local header.
    local_at: usize,
    data_end: usize,
    /// Offset of the next central header.
    next: usize,
}

fn central_header(apk: &[u8], at: usize, sections: Sections) -> Result<Found<'_>, Malformed> {
    let cut = Malformed { at, what: "the central header is cut short" };
    let header = apk.get(at..sections.end).ok_or(cut)?;
    let short = |offset| u16_at(header, offset).ok_or(cut);
    let word = |offset| u32_at(header, offset).ok_or(cut);
    if word(0)? != CENTRAL {
        return Err(Malformed { at, what: "no central header" });
    }
    let mut rest = header.get(CENTRAL_LENGTH..).ok_or(cut)?;
    let mut text = |length: u16| {
        let (text, after) = rest.split_at_checked(length.into()).ok_or(cut)?;
        rest = after;
        Ok(text)
    };
    let (name, extra, comment) = (text(short(28)?)?, text(short(30)?)?, text(short(32)?)?);
    let next = at + CENTRAL_LENGTH + name.len() + extra.len() + comment.len();
    let (compressed, size, local_at) = (word(20)?, word(24)?, word(42)?);
    if [compressed, size, local_at].contains(&u32::MAX) {
        return Err(Malformed { at, what: "an entry has 64-bit sizes" });
    }
    let local_at = local_at as usize;
    let wrong = |what| Malformed { at: local_at, what };
    let before = apk.get(..sections.directory).unwrap_or_default();
    let local = before.get(local_at..).ok_or(Malformed { at, what: "an entry is outside of the file" })?;
    if u32_at(local, 0) != Some(LOCAL) {
        return Err(wrong("no local header of an entry"));
    }
    let lengths = u16_at(local, 26).zip(u16_at(local, 28));
    let (name_length, extra_length) = lengths.ok_or(wrong("a local header is cut short"))?;
    let extra_at = LOCAL_LENGTH + usize::from(name_length);
    let data_at = extra_at + usize::from(extra_length);
    // The name is what decides which entry a reader takes; others may read the local header.
    if local.get(LOCAL_LENGTH..extra_at) != Some(name) {
        return Err(wrong("the name in a local header differs from the directory's"));
    }
    let local_extra = local.get(extra_at..data_at).ok_or(wrong("a local header is cut short"))?;
    let data = local.get(data_at..).and_then(|data| data.get(..compressed as usize));
    let data = data.ok_or(wrong("an entry extends into the central directory"))?;
    let time = header.get(12..).and_then(|rest| rest.first_chunk()).copied().ok_or(cut)?;
    let data_at = local_at + data_at;
    let data_end = data_at + data.len();
    let entry = Entry {
        name: name.into(),
        made_by: short(4)?,
        needed: short(6)?,
        flags: short(8)?,
        time,
        internal: short(36)?,
        external: word(38)?,
        extra: extra.into(),
        local_extra: local_extra.into(),
        comment: comment.into(),
        data: Data::Copied { method: short(10)?, crc: word(16)?, size, bytes: data.into() },
    };
    Ok(Found { placed: Placed { entry, data_at }, local_at, data_end, next })
}
