//! The sections of a signed APK: entries, signing block, central directory, end record.

use zip_archive::{Central, Malformed, end_records, u16_at};

/// Offset of the central directory's offset in the end record.
pub(crate) const DIRECTORY_OFFSET: usize = 16;

/// Where the sections of an APK lie. The entries, and a signing block if there is one, are before `directory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sections {
    /// Start of the central directory.
    pub(crate) directory: usize,
    /// Start of the end record, and end of the central directory.
    pub(crate) end: usize,
}

impl Sections {
    /// Finds the sections of `apk`. The end record must be the last of the file, as Android demands of a signed APK.
    pub(crate) fn find(apk: &[u8]) -> Result<Self, Malformed> {
        let (end, _) =
            end_records(apk).find(|(_, comment_end)| *comment_end == apk.len()).ok_or_else(|| {
                match end_records(apk).next() {
                    Some((_, end)) if end < apk.len() => {
                        Malformed { at: end, what: "bytes behind the end record" }
                    }
                    _ => Malformed { at: apk.len(), what: "no end record of a zip file" },
                }
            })?;
        let wrong = |what| Malformed { at: end, what };
        let short = |offset| u16_at(apk, end + offset);
        if short(6) != Some(0) || short(8) != short(10) {
            return Err(wrong("the zip file has several parts"));
        }
        let central = Central::before(apk, end)?;
        if central.is_zip64 {
            return Err(wrong("the zip file has 64-bit sizes"));
        }
        if central.shift != 0 {
            return Err(wrong("the central directory does not end at the end record"));
        }
        Ok(Self { directory: central.start, end })
    }
}
