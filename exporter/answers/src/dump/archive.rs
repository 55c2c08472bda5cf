//! Reads the dumps in a zip archive from `adb bugreport`, or in any archive of texts.
//!
//! ```text
//! bugreport-*.zip: FS/data/anr/anr_2026-01-01-10-00-00-000     ART's dump for each ANR
//!                  FS/data/tombstones/tombstone_00             native crashes
//!                  bugreport-phone-...txt                      dumpstate's text, with VM TRACES and logcat
//! ```
//! (AOSP `frameworks/native/cmds/dumpstate/dumpstate.cpp`, Android 7 to 16.) Nothing is written to disk; entry
//! names are displayed, never opened. An archive with an entry larger than [`limits::ENTRY`], or
//! [`limits::ARCHIVE`] in total, is rejected. Entries are stored or deflated.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zip_archive::{DEFLATED, Listed, Listing, STORED, Unlisted};

use super::error::DumpError;
use super::limits;
use super::model::Dump;

/// A summary of what was read from a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opened {
    /// Number of dumps.
    pub dumps: u64,
    /// Number of texts that are not dumps.
    pub others: u64,
    /// Entries that could not be read, with the reason.
    pub warnings: Vec<String>,
}

impl Dump {
    /// Reads each dump of a file, which is a text or a zip archive, and passes it to `each` with its name.
    /// Dumps of an archive come newest first, one at a time in memory.
    ///
    /// # Errors
    /// If the file cannot be read, has no dump, or unpacks to more than the limits.
    pub fn open_each(path: &Path, each: &mut dyn FnMut(String, Self)) -> Result<Opened, DumpError> {
        let failed = |source| DumpError::Read { file: path.to_owned(), offset: 0, source };
        Self::read_each(path, File::open(path).map_err(failed)?, each)
    }

    /// As [`Self::open_each`], from an open file or from memory; `path` is used in names and errors only.
    ///
    /// # Errors
    /// As [`Self::open_each`].
    pub fn read_each(
        path: &Path,
        mut file: impl Read + Seek,
        each: &mut dyn FnMut(String, Self),
    ) -> Result<Opened, DumpError> {
        let failed = |source| DumpError::Read { file: path.to_owned(), offset: 0, source };
        let mut begin = [0; 4];
        let is_zip = file.read_exact(&mut begin).is_ok() && matches!(&begin, b"PK\x03\x04" | b"PK\x05\x06");
        file.rewind().map_err(failed)?;
        if !is_zip {
            each(path.display().to_string(), Self::read(path, file)?);
            return Ok(Opened { dumps: 1, ..Opened::default() });
        }
        read_archive(path, file, each)
    }
}

fn read_archive(
    path: &Path,
    mut file: impl Read + Seek,
    each: &mut dyn FnMut(String, Dump),
) -> Result<Opened, DumpError> {
    let refused = |reason: String| DumpError::Archive { file: path.to_owned(), reason };
    let unlisted = |e: Unlisted| refused(e.to_string());
    let listing = Listing::read(&mut file, limits::DIRECTORY).map_err(unlisted)?;
    let all = listing.entries().collect::<Result<Vec<_>, _>>().map_err(unlisted)?;
    let mut opened = Opened::default();
    let count = all.len();
    let left = Cell::new(limits::ARCHIVE);
    for entry in chosen(all) {
        let entry_name = String::from_utf8_lossy(entry.name);
        let name = format!("{}:{entry_name}", path.display());
        let unpacked = match unpack(&entry, &mut file) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                opened.warn(format!("{name}: {error}"));
                continue;
            }
        };
        let exceeded = Cell::new(None);
        let bounded =
            Bounded { input: unpacked, of_entry: limits::ENTRY, of_archive: &left, exceeded: &exceeded };
        let read = Dump::read(&PathBuf::from(&name), bounded);
        if let Some(limit) = exceeded.get() {
            return Err(refused(format!("{entry_name} unpacks to more than {limit} bytes")));
        }
        match read {
            Ok(dump) => {
                opened.dumps += 1;
                each(name, dump);
            }
            Err(DumpError::NoDump { .. }) => opened.others += 1,
            Err(error) => opened.warn(error.to_string()),
        }
    }
    if opened.dumps == 0 {
        let why = opened.warnings.first().map(|warning| format!(" ({warning})")).unwrap_or_default();
        return Err(refused(format!("none of its {count} entries is a thread dump{why}")));
    }
    Ok(opened)
}

impl Opened {
    fn warn(&mut self, warning: String) {
        if self.warnings.len() < limits::REMARKS {
            self.warnings.push(warning);
        }
    }
}

/// Selects entries that may be dumps: in a bug report those that the system put there, else all. ANRs come
/// first, then the newest.
fn chosen(mut entries: Vec<Listed<'_>>) -> Vec<Listed<'_>> {
    let is_report = entries.iter().any(|entry| entry.name.starts_with(b"FS/"));
    let rank = |name: &[u8]| {
        if name.starts_with(b"FS/data/anr/") {
            Some(0)
        } else if name.starts_with(b"FS/data/tombstones/") {
            (!name.ends_with(b".pb")).then_some(1)
        } else {
            (!is_report || !name.contains(&b'/')).then_some(2)
        }
    };
    // Date and time are one number that grows.
    let changed = |entry: &Listed<'_>| u32::from_le_bytes(entry.time);
    entries.retain(|entry| !entry.name.ends_with(b"/") && rank(entry.name).is_some());
    entries.sort_by(|a, b| {
        let newest = changed(b).cmp(&changed(a)).then_with(|| b.name.cmp(a.name));
        rank(a.name).cmp(&rank(b.name)).then(newest)
    });
    entries
}

fn broken(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Returns a reader of the unpacked bytes of `entry`.
fn unpack<'a>(entry: &Listed<'_>, file: &'a mut (impl Read + Seek)) -> io::Result<Box<dyn Read + 'a>> {
    if entry.is_encrypted {
        return Err(broken("it is encrypted: unpack it and give the file"));
    }
    let at = entry.data_at(file)?;
    file.seek(SeekFrom::Start(at))?;
    let packed = BufReader::with_capacity(64 << 10, file.take(entry.compressed));
    match entry.method {
        STORED => Ok(Box::new(packed)),
        DEFLATED => Ok(Box::new(flate2::bufread::DeflateDecoder::new(packed))),
        method => {
            Err(broken(format!("its packing method {method} is not known: unpack it and give the file")))
        }
    }
}

/// Stops an entry that unpacks to more than its limit.
struct Bounded<'a, R> {
    input: R,
    of_entry: u64,
    of_archive: &'a Cell<u64>,
    exceeded: &'a Cell<Option<u64>>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let bytes = read as u64;
        match (self.of_entry.checked_sub(bytes), self.of_archive.get().checked_sub(bytes)) {
            (Some(of_entry), Some(of_archive)) => {
                self.of_entry = of_entry;
                self.of_archive.set(of_archive);
                Ok(read)
            }
            (of_entry, _) => {
                self.exceeded.set(Some(if of_entry.is_none() { limits::ENTRY } else { limits::ARCHIVE }));
                Err(broken("it unpacks to more than may be"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_chosen_and_ordered() {
        let entry = |name: &'static str, changed: u32| Listed {
            name: name.as_bytes(),
            time: changed.to_le_bytes(),
            is_encrypted: false,
            method: STORED,
            compressed: 0,
            size: 0,
            local_at: 0,
        };
        let names = |entries: Vec<Listed<'static>>| -> Vec<&str> {
            chosen(entries).iter().map(|entry| str::from_utf8(entry.name).unwrap()).collect()
        };
        let report = vec![
            entry("bugreport-x.txt", 9),
            entry("FS/data/anr/", 9),
            entry("FS/data/anr/anr_1", 1),
            entry("FS/data/anr/anr_2", 2),
            entry("FS/data/tombstones/tombstone_00", 3),
            entry("FS/data/tombstones/tombstone_00.pb", 3),
            entry("FS/proc/1/maps", 4),
        ];
        assert_eq!(
            names(report),
            ["FS/data/anr/anr_2", "FS/data/anr/anr_1", "FS/data/tombstones/tombstone_00", "bugreport-x.txt"]
        );
        assert_eq!(names(vec![entry("a/b.txt", 1), entry("c", 1)]), ["c", "a/b.txt"]);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let read = |bytes: &[u8]| Listing::read(&mut io::Cursor::new(bytes), limits::DIRECTORY);
        for bytes in [&b""[..], b"PK\x05\x06", b"PK\x03\x04 and more, without a directory", &[0xff; 100]] {
            assert!(read(bytes).is_err());
        }
        let mut empty = b"PK\x05\x06".to_vec();
        empty.resize(22, 0);
        assert_eq!(read(&empty).unwrap().entries().count(), 0);
        // A directory larger than the limit, and one beyond the end.
        empty[12..16].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        let large = read(&empty).unwrap_err().to_string();
        assert!(large.contains(&limits::DIRECTORY.to_string()), "{large}");
        empty[12..16].copy_from_slice(&100_u32.to_le_bytes());
        assert!(read(&empty).is_err());
    }
}
