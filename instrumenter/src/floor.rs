//! The least that instrumenting an archive can cost: what a bench holds the real thing against.

use std::fs::{self, File};
use std::path::Path;

use rayon::ThreadPoolBuilder;

use crate::archive::Archive;
use crate::error::Error;
use crate::read_file::read_file;

/// Reads the archive `from`, inflates every class, deflates it again at `level` with `threads` threads
/// and writes all to `to`, with the very code that instrumenting uses. No class is looked at.
///
/// # Errors
///
/// An input that cannot be read, an output that cannot be written.
pub fn copy_through(from: &Path, to: &Path, level: u8, threads: usize) -> Result<(), Error> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|_| Error::Threads { threads })?;
    let bytes = read_file(from, &pool).map_err(|source| Error::Read { path: from.into(), source })?;
    let archive = Archive::outline(from, String::new(), bytes)?;
    let failed = |source| Error::Write { path: to.into(), source };
    let _ = fs::remove_file(to);
    archive.write_unchanged(File::create(to).map_err(failed)?, &pool, level)?;
    Ok(())
}
