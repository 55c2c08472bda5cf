//! Reads a file without its holes: most of a short run's recording was allocated and never written to, and to read it would fill the page
//! cache with zeros, block by block.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use exporter::FileSource;
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use trace_format::Source;

/// More extents than a recorder leaves; a file that has more is read as it is.
const MOST_EXTENTS: usize = 10_000;

/// A file whose holes read as zeros without a call of the system. No process may write to it.
#[derive(Debug)]
pub(super) struct Sparse {
    file: FileSource,
    /// Where it has data, in order; `None` if that is unknown.
    data: Option<Vec<Range<u64>>>,
}

impl Sparse {
    /// Opens a file. If a process holds its lock, which a recorder does, that process may write to it: then all of it is read.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = FileSource::open(path)?;
        let own = File::open(path)?;
        let data = if own.try_lock().is_ok() { extents(&own, file.len()) } else { None };
        Ok(Self { file, data })
    }

    fn is_hole(&self, range: &Range<u64>) -> bool {
        let Some(data) = &self.data else { return false };
        let next = data.partition_point(|extent| extent.end <= range.start);
        data.get(next).is_none_or(|extent| extent.start >= range.end)
    }
}

impl Source for Sparse {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.len());
        if offset >= end {
            return Ok(0);
        }
        if !self.is_hole(&(offset..end)) {
            return self.file.read_at(offset, buffer);
        }
        let count = usize::try_from(end - offset).unwrap_or(buffer.len());
        let zeros = buffer.get_mut(..count).unwrap_or_default();
        zeros.fill(0);
        Ok(zeros.len())
    }
}

/// Where a file has data (man 2 lseek, `SEEK_DATA`): what was allocated and not written counts as a hole. `None` if the file system does
/// not say.
fn extents(file: &File, length: u64) -> Option<Vec<Range<u64>>> {
    let mut extents = Vec::new();
    let mut at = 0;
    while at < length {
        let start = match lseek(file, i64::try_from(at).ok()?, Whence::SeekData) {
            Ok(start) => u64::try_from(start).ok()?,
            // No data from here on.
            Err(Errno::ENXIO) => break,
            Err(_) => return None,
        };
        let end = u64::try_from(lseek(file, i64::try_from(start).ok()?, Whence::SeekHole).ok()?).ok()?;
        if end <= at || extents.len() == MOST_EXTENTS {
            return None;
        }
        extents.push(start..end);
        at = end;
    }
    Some(extents)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn it_reads_what_the_file_has() {
        let scratch = Scratch::new();
        let path = scratch.file("x", b"");
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        for at in [0, 70_000, 500_000, (1 << 20) - 3] {
            file.write_all_at(b"abc", at).unwrap();
        }
        let (whole, sparse) = (fs::read(&path).unwrap(), Sparse::open(&path).unwrap());
        for at in (0..whole.len()).step_by(997).chain([whole.len() - 1, whole.len()]) {
            for length in [1, 64, 8_192] {
                let (mut one, mut other) = (vec![1; length], vec![1; length]);
                let expected = whole.as_slice().read_at(at as u64, &mut one).unwrap();
                assert_eq!(
                    sparse.read_at(at as u64, &mut other).unwrap(),
                    expected,
                    "{length} bytes at {at}"
                );
                assert_eq!(one[..expected], other[..expected], "{length} bytes at {at}");
            }
        }
        assert_eq!(sparse.read_at(u64::MAX, &mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn a_file_that_a_recorder_still_has_is_read_as_it_is() {
        let scratch = Scratch::new();
        let path = scratch.file("x", &[0; 9_000]);
        let recorder = fs::OpenOptions::new().write(true).open(&path).unwrap();
        recorder.lock().unwrap();
        let sparse = Sparse::open(&path).unwrap();
        assert_eq!(sparse.data, None);
        recorder.write_all_at(b"late", 5_000).unwrap();
        let mut read = [0; 4];
        sparse.read_at(5_000, &mut read).unwrap();
        assert_eq!(&read, b"late");
    }
}
