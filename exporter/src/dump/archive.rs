//! Reads the dumps in a zip archive from `adb bugreport`, or in any archive of texts.
//!
//! ```text
//! bugreport-*.zip: FS/data/anr/anr_2026-01-01-10-00-00-000     ART's dump for each ANR
//!                  FS/data/tombstones/tombstone_00             native crashes
//!                  bugreport-phone-...txt                      dumpstate's text, with VM TRACES and logcat
//! ```
//! (AOSP `frameworks/native/cmds/dumpstate/dumpstate.cpp`, Android 7 to 16.) Nothing is written to disk; entry
//! names are displayed, never opened. An archive with an entry larger than [`limits::ENTRY`], or
//! [`limits::ARCHIVE`] in total, is rejected. The form is PKWARE's APPNOTE 6.3.10, with zip64; entries are
//! stored or deflated.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::error::DumpError;
use super::limits;
use super::model::Dump;

/// Length of the end-of-archive record without its comment, in bytes.
const END_RECORD_LENGTH: u64 = 22;

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
    let all = entries(&mut file).map_err(|e| refused(e.to_string()))?;
    let mut opened = Opened::default();
    let count = all.len();
    let left = Cell::new(limits::ARCHIVE);
    for entry in chosen(all) {
        let name = format!("{}:{}", path.display(), entry.name);
        let unpacked = match entry.open(&mut file) {
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
            return Err(refused(format!("{} unpacks to more than {limit} bytes", entry.name)));
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

/// One file in an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    name: String,
    /// Modification time, in a form that sorts by time.
    changed: u32,
    encrypted: bool,
    method: u16,
    packed: u64,
    /// Offset of its local header.
    at: u64,
}

/// Selects entries that may be dumps: in a bug report those that the system put there, else all. ANRs come
/// first, then the newest.
fn chosen(mut entries: Vec<Entry>) -> Vec<Entry> {
    let is_report = entries.iter().any(|entry| entry.name.starts_with("FS/"));
    let rank = |name: &str| {
        if name.starts_with("FS/data/anr/") {
            Some(0)
        } else if name.starts_with("FS/data/tombstones/") {
            (!name.ends_with(".pb")).then_some(1)
        } else {
            (!is_report || !name.contains('/')).then_some(2)
        }
    };
    entries.retain(|entry| !entry.name.ends_with('/') && rank(&entry.name).is_some());
    entries.sort_by(|a, b| {
        let newest = b.changed.cmp(&a.changed).then_with(|| b.name.cmp(&a.name));
        rank(&a.name).cmp(&rank(&b.name)).then(newest)
    });
    entries
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn broken(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

fn read_at(file: &mut (impl Read + Seek), at: u64, length: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads the central directory.
fn entries(file: &mut (impl Read + Seek)) -> io::Result<Vec<Entry>> {
    let size = file.seek(SeekFrom::End(0))?;
    // The comment after the last record has at most 65535 bytes.
    let tail = size.min(END_RECORD_LENGTH + u64::from(u16::MAX));
    let bytes = read_at(file, size - tail, tail as usize)?;
    let end = memchr::memmem::rfind(&bytes, b"PK\x05\x06")
        .filter(|at| at + END_RECORD_LENGTH as usize <= bytes.len());
    let end = end.ok_or_else(|| broken("its directory is missing: it is cut off or is no zip archive"))?;
    let record = &bytes[end..];
    let (mut length, mut at) = (u64::from(u32_at(record, 12)), u64::from(u32_at(record, 16)));
    if at == u64::from(u32::MAX) || length == u64::from(u32::MAX) {
        let locator =
            end.checked_sub(20).map(|at| &bytes[at..end]).filter(|bytes| bytes.starts_with(b"PK\x06\x07"));
        let locator = locator.ok_or_else(|| broken("its zip64 directory is missing"))?;
        let record = read_at(file, u64_at(locator, 8), 56)?;
        (length, at) = (u64_at(&record, 40), u64_at(&record, 48));
    }
    if length > limits::DIRECTORY {
        return Err(broken(format!("its directory has {length} bytes, and may have {}", limits::DIRECTORY)));
    }
    if at.checked_add(length).is_none_or(|end| end > size) {
        return Err(broken("its directory is cut off"));
    }
    let directory = read_at(file, at, length as usize)?;
    let mut rest = directory.as_slice();
    let mut entries = Vec::new();
    while rest.starts_with(b"PK\x01\x02") && rest.len() >= 46 {
        let name = u16_at(rest, 28) as usize;
        let (extra, comment) = (u16_at(rest, 30) as usize, u16_at(rest, 32) as usize);
        let Some(texts) = rest.get(46..46 + name + extra) else {
            return Err(broken("its directory is cut off"));
        };
        let mut entry = Entry {
            name: String::from_utf8_lossy(&texts[..name]).into_owned(),
            changed: u32::from(u16_at(rest, 14)) << 16 | u32::from(u16_at(rest, 12)),
            encrypted: u16_at(rest, 8) & 1 == 1,
            method: u16_at(rest, 10),
            packed: u64::from(u32_at(rest, 20)),
            at: u64::from(u32_at(rest, 42)),
        };
        wide(&mut entry, u32_at(rest, 24) == u32::MAX, &texts[name..]);
        entries.push(entry);
        rest = rest.get(46 + name + extra + comment..).unwrap_or_default();
    }
    Ok(entries)
}

/// Takes sizes and offset from the zip64 field if the short ones are saturated.
fn wide(entry: &mut Entry, unpacked: bool, mut extra: &[u8]) {
    while extra.len() >= 4 {
        let length = u16_at(extra, 2) as usize;
        let field = extra.get(4..4 + length).unwrap_or_default();
        if u16_at(extra, 0) == 1 {
            let mut numbers = field.chunks_exact(8).map(|bytes| u64_at(bytes, 0)).skip(usize::from(unpacked));
            if entry.packed == u64::from(u32::MAX) {
                entry.packed = numbers.next().unwrap_or(entry.packed);
            }
            if entry.at == u64::from(u32::MAX) {
                entry.at = numbers.next().unwrap_or(entry.at);
            }
        }
        extra = extra.get(4 + length..).unwrap_or_default();
    }
}

impl Entry {
    /// A reader of the unpacked bytes.
    fn open<'a>(&self, file: &'a mut (impl Read + Seek)) -> io::Result<Box<dyn Read + 'a>> {
        if self.encrypted {
            return Err(broken("it is encrypted: unpack it and give the file"));
        }
        let header = read_at(file, self.at, 30)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(broken("its local header is missing"));
        }
        let skip = u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
        let at = self.at.checked_add(30 + skip).ok_or_else(|| broken("it begins behind the file's end"))?;
        file.seek(SeekFrom::Start(at))?;
        let packed = BufReader::with_capacity(64 << 10, file.take(self.packed));
        match self.method {
            0 => Ok(Box::new(packed)),
            8 => Ok(Box::new(flate2::bufread::DeflateDecoder::new(packed))),
            method => {
                Err(broken(format!("its packing method {method} is not known: unpack it and give the file")))
            }
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
        let entry = |name: &str, changed| Entry {
            name: name.to_owned(),
            changed,
            encrypted: false,
            method: 0,
            packed: 0,
            at: 0,
        };
        let names =
            |entries: Vec<Entry>| chosen(entries).into_iter().map(|entry| entry.name).collect::<Vec<_>>();
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
        for bytes in [&b""[..], b"PK\x05\x06", b"PK\x03\x04 and more, without a directory", &[0xff; 100]] {
            assert!(entries(&mut io::Cursor::new(bytes)).is_err());
        }
        let mut empty = b"PK\x05\x06".to_vec();
        empty.resize(22, 0);
        assert_eq!(entries(&mut io::Cursor::new(&empty)).unwrap(), []);
        // A directory larger than the limit, and one beyond the end.
        empty[12..16].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        let large = entries(&mut io::Cursor::new(&empty)).unwrap_err().to_string();
        assert!(large.contains(&limits::DIRECTORY.to_string()), "{large}");
        empty[12..16].copy_from_slice(&100_u32.to_le_bytes());
        assert!(entries(&mut io::Cursor::new(&empty)).is_err());
    }
}
