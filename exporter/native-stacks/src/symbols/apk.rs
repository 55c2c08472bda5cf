//! Libraries that are stored in an APK, which Android maps from there without unpacking them.

use super::source::Source;

/// Most bytes of an archive's directory.
const MAX_DIRECTORY: u64 = 64 << 20;
/// The end record without its comment, and the longest comment.
const END: u64 = 22;
const MAX_COMMENT: u64 = 65_535;

/// A library in an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stored {
    /// Its name in the archive: `lib/arm64-v8a/libexample.so`.
    pub(super) name: String,
    /// Where its bytes begin in the archive.
    pub(super) offset: u64,
    /// How many there are.
    pub(super) len: u64,
}

/// The libraries that are stored without compression; empty if it is not an archive (PKWARE's APPNOTE 4.3, without zip64: an APK has none).
pub(super) fn libraries(archive: &mut Source) -> Vec<Stored> {
    entries(archive).unwrap_or_default()
}

fn entries(archive: &mut Source) -> Option<Vec<Stored>> {
    let tail = archive.len().min(END + MAX_COMMENT);
    let end = archive.part(archive.len() - tail, tail).ok()?;
    let end = (0..=end.len().checked_sub(END as usize)?).rev().find_map(|at| {
        let record = &end[at..];
        (record.starts_with(b"PK\x05\x06")
            && at + END as usize + usize::from(u16_at(record, 20)?) == end.len())
        .then_some(record)
    })?;
    let (size, offset) = (u64::from(u32_at(end, 12)?), u64::from(u32_at(end, 16)?));
    if size > MAX_DIRECTORY {
        return None;
    }
    let directory = archive.part(offset, size).ok()?;
    let mut rest = &directory[..];
    let mut found = Vec::new();
    while rest.starts_with(b"PK\x01\x02") {
        let (method, len) = (u16_at(rest, 10)?, u64::from(u32_at(rest, 24)?));
        let lengths = [u16_at(rest, 28)?, u16_at(rest, 30)?, u16_at(rest, 32)?].map(usize::from);
        let header = u64::from(u32_at(rest, 42)?);
        let name = rest.get(46..46 + lengths[0])?;
        rest = rest.get(46 + lengths.iter().sum::<usize>()..)?;
        if method == 0
            && name.ends_with(b".so")
            // The header beside the bytes has lengths of its own.
            && let Ok(local) = archive.part(header, 30)
            && local.starts_with(b"PK\x03\x04")
            && let (Some(name_len), Some(extra)) = (u16_at(&local, 26), u16_at(&local, 28))
        {
            let name = String::from_utf8_lossy(name).into_owned();
            let offset = header + 30 + u64::from(name_len) + u64::from(extra);
            found.push(Stored { name, offset, len });
        }
    }
    Some(found)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
