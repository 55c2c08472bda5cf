//! Reads a large file with all threads, because most of the cost is touching fresh memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rayon::ThreadPool;
use rayon::prelude::*;

use trace_format::regular_file;

use crate::class::class_file::MAX_CLASS;

/// The largest jar inside an aar that is read, to bound memory.
pub(crate) const MAX_NESTED: u64 = 512 << 20;

/// Bytes that one thread reads at a time.
const PIECE: usize = 1 << 20;

/// Returns `None` if what was tried with a file failed because there is no such file.
pub(crate) fn if_there<T>(tried: io::Result<T>) -> io::Result<Option<T>> {
    match tried {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        tried => tried.map(Some),
    }
}

/// Reads a class file; `None` if it is too large.
pub(crate) fn read_class(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (file, metadata) = regular_file::open(path)?;
    let mut bytes = Vec::with_capacity(metadata.len().min(MAX_CLASS) as usize);
    file.take(MAX_CLASS + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_CLASS).then_some(bytes))
}

/// Reads the file at `path`, up to its length when it was opened.
pub(crate) fn read_file(path: &Path, pool: &ThreadPool) -> io::Result<Vec<u8>> {
    let (file, metadata) = regular_file::open(path)?;
    let length = usize::try_from(metadata.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // A file that claims to be larger than the memory is an error and must not abort.
    Vec::<u8>::new().try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // The system zeroes each page when it is first written to.
    let mut bytes = vec![0; length];
    pool.install(|| {
        bytes
            .par_chunks_mut(PIECE)
            .enumerate()
            .try_for_each(|(number, piece)| read_exact_at(&file, piece, number as u64 * PIECE as u64))
    })?;
    Ok(bytes)
}

#[cfg(unix)]
fn read_exact_at(file: &File, piece: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, piece, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut piece: &mut [u8], mut at: u64) -> io::Result<()> {
    while !piece.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, piece, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                piece = piece.get_mut(count..).unwrap_or_default();
                at += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;

    #[test]
    fn chunks_are_joined_in_order() {
        let path = std::env::temp_dir().join(format!("anrscope-read-{}", std::process::id()));
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for length in [0, 1, PIECE, 2 * PIECE + 17] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(read_file(&path, &pool).unwrap(), bytes, "{length}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(read_file(&path, &pool).is_err());
    }
}
