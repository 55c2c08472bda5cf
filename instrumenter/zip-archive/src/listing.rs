//! The directory of an archive that stays in its file, such as a bug report of gigabytes or a phone's APK.
//!
//! Only the directory is read, if it is not longer than the caller allows. An entry's local header is read when its data is wanted,
//! so one that is damaged costs no other entry. [`Directory`](crate::Directory) checks all of them, but needs the whole archive in memory.

use core::iter;
use std::io::{self, Read, Seek, SeekFrom};

use crate::records::{
    CENTRAL, CentralHeader, END_LENGTH, EndRecord, LOCAL_LENGTH, Malformed, likeliest_end, local_lengths,
    malformed,
};

/// Why an archive cannot be listed: the end of a sentence that names it.
#[derive(Debug, thiserror::Error)]
pub enum Unlisted {
    /// Nothing at the end of the file is an end record.
    #[error("its directory is missing: it is cut off or is no zip archive")]
    Missing,
    /// The directory contradicts itself or the file.
    #[error("its directory is damaged: {0}")]
    Malformed(#[from] Malformed),
    /// More than the caller takes.
    #[error("its directory has {length} bytes, and may have {limit}")]
    TooLarge {
        /// The length of the central headers, in bytes.
        length: u64,
        /// The most bytes.
        limit: u64,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// The directory of an archive.
#[derive(Debug)]
pub struct Listing {
    headers: Vec<u8>,
    /// The position of the first header.
    start: u64,
    /// The difference between real and recorded offsets, if something was prepended to the archive.
    shift: u64,
}

/// An entry, as its central header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// The name.
    pub name: &'a [u8],
    /// MS-DOS time and date.
    pub time: [u8; 4],
    /// True if the flags say that the data is encrypted.
    pub is_encrypted: bool,
    /// The compression method.
    pub method: u16,
    /// Size of the data, in bytes.
    pub compressed: u64,
    /// Size of the contents, as the archive claims it.
    pub size: u64,
    /// Position of the local header.
    pub local_at: u64,
}

impl Listing {
    /// Reads the directory of `file`, if it has at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// A directory that is missing, damaged or larger, archives of several parts, and a file that cannot be read.
    pub fn read(file: &mut (impl Read + Seek), limit: u64) -> Result<Self, Unlisted> {
        let size = file.seek(SeekFrom::End(0))?;
        let tail_at = size.saturating_sub((END_LENGTH + 0xFFFF) as u64);
        let tail = read_at(file, tail_at, (size - tail_at) as usize)?;
        let end = likeliest_end(&tail).ok_or(Unlisted::Missing)?;
        let record = EndRecord::read(tail_at + end as u64, |at, length| read_at(file, at, length).ok())?;
        if record.length > limit {
            return Err(Unlisted::TooLarge { length: record.length, limit });
        }
        let (start, shift) = record.start()?;
        Ok(Self { headers: read_at(file, start, record.length as usize)?, start, shift })
    }

    /// Returns the entries in the order of the central headers, up to the first bytes that are no header. Nothing follows an error.
    ///
    /// # Errors
    ///
    /// A header that is cut short, or of a multi-disk archive.
    pub fn entries(&self) -> impl Iterator<Item = Result<Listed<'_>, Unlisted>> {
        let mut rest = self.headers.as_slice();
        iter::from_fn(move || {
            let bytes = core::mem::take(&mut rest);
            let at = self.start + (self.headers.len() - bytes.len()) as u64;
            let header = bytes.starts_with(&CENTRAL).then(|| CentralHeader::read(bytes))?;
            Some(header.map_err(|what| malformed(at, what).into()).map(|header| {
                rest = bytes.get(header.length()..).unwrap_or_default();
                self.listed(&header)
            }))
        })
    }

    fn listed<'a>(&self, header: &CentralHeader<'a>) -> Listed<'a> {
        Listed {
            name: header.name,
            time: header.attributes.time,
            is_encrypted: header.stored.is_encrypted(),
            method: header.stored.method,
            compressed: header.stored.compressed,
            size: header.stored.size,
            local_at: header.local.saturating_add(self.shift),
        }
    }
}

impl Listed<'_> {
    /// Returns the position of the data, which follows the local header.
    ///
    /// # Errors
    ///
    /// There is no local header, or the file cannot be read.
    pub fn data_at(&self, file: &mut (impl Read + Seek)) -> io::Result<u64> {
        let broken = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        let header = read_at(file, self.local_at, LOCAL_LENGTH)?;
        let (name, extra) = local_lengths(&header).ok_or_else(|| broken("its local header is missing"))?;
        let at = self.local_at.checked_add((LOCAL_LENGTH + name + extra) as u64);
        at.ok_or_else(|| broken("it begins behind the file's end"))
    }
}

fn read_at(file: &mut (impl Read + Seek), at: u64, length: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
