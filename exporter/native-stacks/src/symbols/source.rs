//! Where the bytes of a file come from: a file, a part of one, or memory.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

/// Most bytes that are read at once: a section, or a whole file.
pub(super) const MAX_READ: u64 = 2 << 30;

/// A file, or a part of one: a library that is stored in an APK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The file.
    pub(super) path: PathBuf,
    /// Offset and length of the part; `None` for the whole file.
    pub(super) part: Option<(u64, u64)>,
}

impl Place {
    /// A whole file.
    pub(super) fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), part: None }
    }

    /// Opens it, if it is a regular file.
    pub(super) fn open(&self) -> io::Result<Source> {
        let (file, metadata) = trace_format::regular_file::open(&self.path)?;
        let whole = metadata.len();
        let (start, len) = self.part.unwrap_or((0, whole));
        let len = len.min(whole.saturating_sub(start));
        Ok(Source { read: Box::new(file), start, len, at: 0 })
    }
}

/// A source of bytes with random access.
trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// An open file, part of a file, or memory.
pub(super) struct Source {
    read: Box<dyn ReadSeek>,
    start: u64,
    len: u64,
    at: u64,
}

impl Source {
    /// Bytes in memory.
    pub(super) fn memory(bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        Self { read: Box::new(Cursor::new(bytes)), start: 0, len, at: 0 }
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes from `offset` on.
    ///
    /// # Errors
    /// If there are fewer than `len`, more than [`MAX_READ`] are asked for, or the file cannot be read.
    pub(super) fn part(&mut self, offset: u64, len: u64) -> io::Result<Arc<[u8]>> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if len > MAX_READ {
            return Err(io::Error::other("it has more than 2 GiB"));
        }
        let mut bytes = zeros(len);
        self.seek(SeekFrom::Start(offset))?;
        if let Some(bytes) = Arc::get_mut(&mut bytes) {
            self.read_exact(bytes)?;
        }
        Ok(bytes)
    }

    /// At most `len` bytes from the beginning.
    pub(super) fn head(&mut self, len: u64) -> io::Result<Arc<[u8]>> {
        self.part(0, len.min(self.len))
    }
}

/// Bytes to be read into, in one allocation: the iterator knows its length.
pub(super) fn zeros(len: u64) -> Arc<[u8]> {
    std::iter::repeat_n(0, len as usize).collect()
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.len.saturating_sub(self.at);
        let max = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if max == 0 {
            return Ok(0);
        }
        let read = self.read.read(&mut into[..max])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.read.seek(SeekFrom::Start(self.start.saturating_add(at)))?;
        self.at = at;
        Ok(at)
    }
}
