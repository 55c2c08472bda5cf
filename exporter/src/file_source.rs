//! Reads a recording on disk as a [`Source`]: positioned reads, so a reader needs no seek state. Tencent Matrix
//! data is first converted to a recording in memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::{Recording, Source, layout, regular_file};

use crate::{ExportError, matrix};

/// An open file, or the recording converted from its contents.
#[derive(Debug)]
pub struct FileSource {
    bytes: Bytes,
    /// Taken once: a recording that grows while it is read is read up to here.
    length: u64,
    /// Number of bytes read, counting repeated reads.
    read: AtomicU64,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl FileSource {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened, or is a directory, a pipe or a device.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (file, metadata) = regular_file::open(path)?;
        Ok(Self { bytes: Bytes::File(file), length: metadata.len(), read: AtomicU64::new(0) })
    }

    fn of(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len() as u64, bytes: Bytes::Memory(bytes), read: AtomicU64::new(0) }
    }

    /// Number of bytes read so far, counting repeated reads.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &self.bytes {
            Bytes::File(file) => read_file(file, offset, buffer),
            Bytes::Memory(bytes) => bytes.read_at(offset, buffer),
        }?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(unix)]
fn read_file(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Where the system has no positioned reads, such as in a browser: the position in the file is changed.
#[cfg(not(any(unix, windows)))]
fn read_file(mut file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
    io::Read::read(&mut file, buffer)
}

/// Opens the recording at `path`; Tencent Matrix data is converted to a recording.
///
/// # Errors
/// If there is no such file, or it is not a recording that this version can read.
pub fn open_recording(path: &Path) -> Result<Recording<FileSource>, ExportError> {
    let failed = |source| ExportError::Open { file: path.to_owned(), source };
    let source = FileSource::open(path).map_err(failed)?;
    let mut magic = [0; layout::MAGIC.len()];
    let begun = source.read_at(0, &mut magic).map_err(failed)?;
    if !layout::MAGIC.starts_with(&magic[..begun]) && source.length <= matrix::MAX_LENGTH {
        let mut bytes = Vec::new();
        let (file, _) = regular_file::open(path).map_err(failed)?;
        file.take(source.length).read_to_end(&mut bytes).map_err(failed)?;
        return recording_of(path, bytes);
    }
    Recording::open(source).map_err(ExportError::reading(path))
}

/// Opens the recording with these bytes; Tencent Matrix data is converted to a recording. `file` is used in messages only.
///
/// # Errors
/// If it is not a recording that this version can read.
pub fn recording_of(file: &Path, bytes: Vec<u8>) -> Result<Recording<FileSource>, ExportError> {
    let is_recording = layout::MAGIC.starts_with(&bytes[..bytes.len().min(layout::MAGIC.len())]);
    let may_be_matrix = !is_recording && bytes.len() as u64 <= matrix::MAX_LENGTH;
    let made = may_be_matrix.then(|| matrix::recording_of(file, &bytes)).flatten().transpose()?;
    Recording::open(FileSource::of(made.unwrap_or(bytes))).map_err(ExportError::reading(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::synth::RecordingBuilder;

    #[test]
    fn reads_at_the_offset_and_stops_at_the_end() {
        let path = std::env::temp_dir().join(format!("anrscope-source-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").unwrap();
        let source = FileSource::open(&path).unwrap();
        let mut four = [0; 4];
        assert_eq!((source.len(), source.read_at(8, &mut four).unwrap()), (10, 2));
        assert_eq!(&four[..2], b"89");
        assert_eq!(source.read_at(10, &mut four).unwrap(), 0);
        std::fs::write(&path, RecordingBuilder::new(7, "p").build()).unwrap();
        assert_eq!(open_recording(&path).unwrap().header().pid, 7);
        assert_eq!(recording_of(&path, std::fs::read(&path).unwrap()).unwrap().header().pid, 7);
        assert!(recording_of(&path, b"0123456789".to_vec()).is_err());
        std::fs::remove_file(&path).unwrap();
        let gone = open_recording(&path).unwrap_err().to_string();
        assert!(gone.contains("anrscope-source-"), "{gone}");
        assert!(open_recording(&std::env::temp_dir()).unwrap_err().to_string().contains("directory"));
    }
}
