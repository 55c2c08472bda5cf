//! The sections of an APK: entries, signing block, central directory, end record.

use super::Malformed;
use super::fields::{u16_at, u32_at};

/// Length of an end record without its comment, in bytes.
const END_LENGTH: usize = 22;
/// Offset of the central directory's offset in the end record.
pub(crate) const DIRECTORY_OFFSET: usize = 16;

/// Where the sections of an APK lie. The entries, and a signing block if there is one, are before `directory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sections {
    /// Start of the central directory.
    pub(crate) directory: usize,
    /// Start of the end record, and end of the central directory.
    pub(crate) end: usize,
    /// Number of entries, as the end record claims.
    pub(crate) count: u16,
}

impl Sections {
    /// Finds the sections of `apk`. The end record must be the last of the file, as Android demands of a signed APK.
    pub(crate) fn find(apk: &[u8]) -> Result<Self, Malformed> {
        let no_end = Malformed { at: apk.len(), what: "no end record of a zip file" };
        let last = apk.len().checked_sub(END_LENGTH).ok_or(no_end)?;
        let is_end = |&at: &usize| {
            let comment = u16_at(apk, at + 20).map_or(usize::MAX, usize::from);
            u32_at(apk, at) == Some(0x0605_4b50) && comment == last - at
        };
        let end = (last.saturating_sub(0xFFFF)..=last).rev().find(is_end).ok_or(no_end)?;
        let wrong = |what| Malformed { at: end, what };
        let word = |offset| u32_at(apk, end + offset).ok_or(no_end);
        let short = |offset| u16_at(apk, end + offset).ok_or(no_end);
        let (count, length, offset) = (short(10)?, word(12)?, word(DIRECTORY_OFFSET)?);
        if count == 0xFFFF || length == u32::MAX || offset == u32::MAX {
            return Err(wrong("the zip file has 64-bit sizes"));
        }
        if short(4)? != 0 || short(6)? != 0 || short(8)? != count {
            return Err(wrong("the zip file has several parts"));
        }
        let directory = offset as usize;
        if directory.checked_add(length as usize) != Some(end) {
            return Err(wrong("the central directory does not end at the end record"));
        }
        Ok(Self { directory, end, count })
    }
}
