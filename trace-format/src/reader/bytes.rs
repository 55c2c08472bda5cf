//! Bytes of a file that may end anywhere.

use crate::error::ReadError;
use crate::source::Source;

/// Reads exactly `N` bytes, or `None` at the end of the file.
pub(super) fn read_array<const N: usize>(
    source: &(impl Source + ?Sized),
    offset: u64,
) -> Result<Option<[u8; N]>, ReadError> {
    let mut bytes = [0; N];
    Ok(read_full(source, offset, &mut bytes)?.then_some(bytes))
}

/// Fills `buffer`, or says that the file ends before.
pub(super) fn read_full(
    source: &(impl Source + ?Sized),
    offset: u64,
    buffer: &mut [u8],
) -> Result<bool, ReadError> {
    Ok(read_some(source, offset, buffer)? == buffer.len())
}

/// Fills `buffer` as far as the file goes, and says how far that is.
pub(crate) fn read_some(
    source: &(impl Source + ?Sized),
    offset: u64,
    buffer: &mut [u8],
) -> Result<usize, ReadError> {
    let mut done = 0;
    while done < buffer.len() {
        let at = offset.saturating_add(done as u64);
        match source.read_at(at, &mut buffer[done..]) {
            Ok(0) => break,
            // A source that counts more than it was asked for is not believed.
            Ok(n) => done += n.min(buffer.len() - done),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(ReadError::Io { offset: at, source }),
        }
    }
    Ok(done)
}
