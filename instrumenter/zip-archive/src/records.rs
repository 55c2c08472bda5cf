//! The records of a directory, each by itself: the end record with its zip64 form, and the headers of an entry.
//!
//! The format's offsets and bounds stand here once, for archives in memory ([`Directory`](crate::Directory)) and for those that stay in
//! their file ([`Listing`](crate::Listing)).

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

pub(crate) fn malformed(at: u64, what: &'static str) -> Malformed {
    Malformed { at: usize::try_from(at).unwrap_or(usize::MAX), what }
}

/// The mark of a local header.
pub(crate) const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The mark of a central header.
pub(crate) const CENTRAL: [u8; 4] = *b"PK\x01\x02";
/// The mark of an end record.
pub const END: [u8; 4] = *b"PK\x05\x06";
/// The mark of a zip64 end record.
pub(crate) const ZIP64_END: [u8; 4] = *b"PK\x06\x06";
/// The mark of the record that leads to the zip64 end record.
pub(crate) const ZIP64_LOCATOR: [u8; 4] = *b"PK\x06\x07";

/// The length of a local header without name and extra fields, in bytes.
pub const LOCAL_LENGTH: usize = 30;
/// The length of a central header without name, extra fields and comment, in bytes.
pub(crate) const CENTRAL_LENGTH: usize = 46;
/// The length of an end record without its comment, in bytes.
pub(crate) const END_LENGTH: usize = 22;
/// The length of a zip64 end record without the data that may follow, in bytes.
const ZIP64_END_LENGTH: usize = 56;
/// The length of the record that leads to it, in bytes.
const ZIP64_LOCATOR_LENGTH: usize = 20;

/// Flag: the data is encrypted.
const ENCRYPTED: u16 = 1;
/// Flag: checksum and sizes follow the data.
pub const DESCRIPTOR: u16 = 1 << 3;
/// Flag: name and comment are UTF-8.
pub const UTF8: u16 = 1 << 11;
/// Method: stored.
pub const STORED: u16 = 0;
/// Method: deflate.
pub const DEFLATED: u16 = 8;

/// Returns the positions of the end records in `bytes`, each with the end of its comment, the last first.
pub fn end_records(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let ends = bytes.len().checked_sub(END_LENGTH).map(|last| last.saturating_sub(0xFFFF)..=last);
    let comment_end = |at: usize| {
        let length = u16_at(bytes, at + 20)?;
        bytes.get(at..)?.starts_with(&END).then_some(at + END_LENGTH + usize::from(length))
    };
    ends.into_iter().flatten().rev().filter_map(move |at| Some((at, comment_end(at)?)))
}

/// Returns the position of the end record in `bytes` that is most likely the archive's.
///
/// A comment may contain 65,535 arbitrary bytes, so it is the one whose comment ends the file. If no comment does, a copier may have
/// appended something, and it is the last.
pub(crate) fn likeliest_end(bytes: &[u8]) -> Option<usize> {
    let fitting = end_records(bytes).find(|&(_, end)| end == bytes.len());
    fitting.or_else(|| end_records(bytes).next()).map(|(at, _)| at)
}

/// What an end record says about the central headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndRecord {
    /// Position of the record.
    at: u64,
    disk: u32,
    /// The number of entries, or its low 16 bits.
    pub(crate) count: u64,
    pub(crate) counts_16_bits: bool,
    /// True if a value does not fit, so that a zip64 end record has it.
    pub(crate) is_zip64: bool,
    /// The length of the central headers, in bytes.
    pub(crate) length: u64,
    /// Recorded position of the central headers.
    offset: u64,
    /// Position after the last central header: of this record, or of the zip64 end record.
    pub(crate) end: u64,
    /// The length of the archive's comment, in bytes.
    pub(crate) comment_length: u16,
}

impl EndRecord {
    /// Reads the end record at `at`, and the zip64 end record if there is one. `part` returns bytes of the archive by position and length.
    ///
    /// # Errors
    ///
    /// A record that is damaged, and archives of several parts.
    pub(crate) fn read(
        at: u64,
        mut part: impl FnMut(u64, usize) -> Option<Vec<u8>>,
    ) -> Result<Self, Malformed> {
        let short = part(at, END_LENGTH).and_then(|bytes| Self::short(at, &bytes));
        let mut record = short.ok_or_else(|| malformed(at, "the end record is truncated"))?;
        let locator_at = at.checked_sub(ZIP64_LOCATOR_LENGTH as u64).filter(|_| record.is_zip64);
        if let Some(locator_at) = locator_at
            && let Some(locator) = part(locator_at, ZIP64_LOCATOR_LENGTH)
            && locator.starts_with(&ZIP64_LOCATOR)
        {
            // It is written right before the locator, and stays there if something is prepended to the archive.
            let before = locator_at.checked_sub(ZIP64_END_LENGTH as u64);
            let places = [before, u64_at(&locator, 8)].into_iter().flatten();
            let large = places.filter(|&end| end < locator_at).find_map(|end| {
                let bytes = part(end, ZIP64_END_LENGTH).filter(|bytes| bytes.starts_with(&ZIP64_END))?;
                record.long(end, &bytes)
            });
            let wrong = || malformed(locator_at, "the locator does not lead to a zip64 end record");
            record = large.ok_or_else(wrong)?;
        }
        if record.disk != 0 { Err(malformed(at, "a part of a multi-disk archive")) } else { Ok(record) }
    }

    fn short(at: u64, bytes: &[u8]) -> Option<Self> {
        let count = u64::from(u16_at(bytes, 10)?);
        let (length, offset) = (u64::from(u32_at(bytes, 12)?), u64::from(u32_at(bytes, 16)?));
        Some(Self {
            at,
            disk: u32::from(u16_at(bytes, 4)?),
            count,
            counts_16_bits: true,
            is_zip64: count == 0xFFFF || length == 0xFFFF_FFFF || offset == 0xFFFF_FFFF,
            length,
            offset,
            end: at,
            comment_length: u16_at(bytes, 20)?,
        })
    }

    /// Returns the values of the zip64 end record `bytes`, which is at `end`.
    fn long(self, end: u64, bytes: &[u8]) -> Option<Self> {
        Some(Self {
            disk: u32_at(bytes, 16)?,
            count: u64_at(bytes, 32)?,
            counts_16_bits: false,
            length: u64_at(bytes, 40)?,
            offset: u64_at(bytes, 48)?,
            end,
            ..self
        })
    }

    /// Returns the position of the first central header, and the difference between real and recorded offsets.
    ///
    /// # Errors
    ///
    /// A directory that does not fit in front of its end.
    pub(crate) fn start(&self) -> Result<(u64, u64), Malformed> {
        let wrong = |what| malformed(self.at, what);
        let start = self.end.checked_sub(self.length);
        let start = start.ok_or_else(|| wrong("the directory is longer than the file"))?;
        let shift = start.checked_sub(self.offset);
        Ok((start, shift.ok_or_else(|| wrong("the directory starts after its own end"))?))
    }
}

/// The metadata of an entry in a directory, without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// "Version made by": format version and operating system.
    pub made_by: u16,
    /// MS-DOS time and date.
    pub time: [u8; 4],
    /// Internal attributes.
    pub internal: u16,
    /// External attributes, such as a file mode.
    pub external: u32,
}

/// The form in which the data of an entry is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// General purpose flags.
    pub flags: u16,
    /// The compression method.
    pub method: u16,
    /// "Version needed to extract"; with 64-bit sizes at least 4.5 is written.
    pub needed: u16,
    /// CRC-32 of the contents.
    pub crc: u32,
    /// Size of the data, in bytes.
    pub compressed: u64,
    /// Size of the contents, in bytes; of an entry that was read, as the archive claims it.
    pub size: u64,
}

impl Stored {
    /// Returns whether the flags say that the data is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }
}

/// The central header of an entry. Sizes and the offset are those of the zip64 field, if it has them.
pub(crate) struct CentralHeader<'a> {
    pub(crate) attributes: Attributes,
    pub(crate) stored: Stored,
    /// The recorded position of the local header.
    pub(crate) local: u64,
    pub(crate) name: &'a [u8],
    pub(crate) extra: &'a [u8],
    pub(crate) comment: &'a [u8],
}

impl<'a> CentralHeader<'a> {
    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// Bytes that are no header, a header that is cut short, and one of a multi-disk archive.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        if !bytes.starts_with(&CENTRAL) {
            return Err("no central header");
        }
        let (mut header, disk) = Self::fields(bytes).ok_or("a central header is truncated")?;
        if let Some(mut large) = zip64(header.extra) {
            // Contains only the values that do not fit above, in this order.
            for value in [&mut header.stored.size, &mut header.stored.compressed, &mut header.local] {
                if *value == 0xFFFF_FFFF {
                    *value = u64_at(large, 0).ok_or("a zip64 field is truncated")?;
                    large = large.get(8..).unwrap_or_default();
                }
            }
        }
        if disk != 0 && disk != 0xFFFF { Err("an entry on another disk") } else { Ok(header) }
    }

    /// Returns the header as it stands, and the number of its disk.
    fn fields(bytes: &'a [u8]) -> Option<(Self, u16)> {
        let rest = bytes.get(CENTRAL_LENGTH..)?;
        let (name, rest) = rest.split_at_checked(u16_at(bytes, 28)?.into())?;
        let (extra, rest) = rest.split_at_checked(u16_at(bytes, 30)?.into())?;
        let comment = rest.get(..usize::from(u16_at(bytes, 32)?))?;
        let attributes = Attributes {
            made_by: u16_at(bytes, 4)?,
            time: u32_at(bytes, 12)?.to_le_bytes(),
            internal: u16_at(bytes, 36)?,
            external: u32_at(bytes, 38)?,
        };
        let stored = Stored {
            needed: u16_at(bytes, 6)?,
            flags: u16_at(bytes, 8)?,
            method: u16_at(bytes, 10)?,
            crc: u32_at(bytes, 16)?,
            compressed: u32_at(bytes, 20)?.into(),
            size: u32_at(bytes, 24)?.into(),
        };
        let header = Self { attributes, stored, local: u32_at(bytes, 42)?.into(), name, extra, comment };
        Some((header, u16_at(bytes, 34)?))
    }

    /// Returns the length of the header with all that it has, in bytes.
    pub(crate) fn length(&self) -> usize {
        CENTRAL_LENGTH + self.name.len() + self.extra.len() + self.comment.len()
    }
}

/// Returns the lengths of name and extra fields of the local header at the start of `bytes`, which may differ from those of the central
/// header. `None` if there is no local header.
pub(crate) fn local_lengths(bytes: &[u8]) -> Option<(usize, usize)> {
    bytes.starts_with(&LOCAL).then_some((u16_at(bytes, 26)?.into(), u16_at(bytes, 28)?.into()))
}
