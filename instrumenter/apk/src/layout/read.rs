//! Reading the entries of an APK.

use zip_archive::{Directory, Label, Malformed};

use super::{Data, Entry};

/// Reads the entries of `apk` in the order of the central directory. A signing block is not an entry. Android does not install archives
/// with 64-bit sizes or with bytes behind the end record; their entries are read all the same.
///
/// # Errors
/// The central directory is damaged, is not where the end record says, or contradicts the local headers; entries overlap or have more than
/// 4 GiB. Overlapping entries are refused because a small file could inflate to a huge one.
pub fn read(apk: &[u8]) -> Result<Vec<Entry<'_>>, Malformed> {
    let Directory { entries, central, .. } = Directory::read(apk)?;
    // Android takes the recorded offset, where another directory could be.
    if central.shift != 0 {
        return Err(Malformed {
            at: central.end,
            what: "the central directory does not end at the end record",
        });
    }
    let read = entries.iter().map(|entry| {
        let wrong = |what| Malformed { at: entry.local_at, what };
        // The name is what decides which entry a reader takes; others may read the local header.
        if apk.get(entry.local_name.clone()) != Some(entry.name_in(apk)) {
            return Err(wrong("the name in a local header differs from the directory's"));
        }
        let stored = entry.stored;
        let size = u32::try_from(stored.size).map_err(|_| wrong("an entry has more than 4 GiB"))?;
        let data =
            Data::Copied { method: stored.method, crc: stored.crc, size, bytes: entry.data_in(apk).into() };
        let read = Entry::from_label(&Label::from_entry(apk, entry), stored.flags, data);
        Ok(Entry { needed: stored.needed, ..read })
    });
    read.collect()
}
