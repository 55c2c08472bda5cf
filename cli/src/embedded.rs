//! The library for the JVM inside the program: the agent and the recorder, with the classes that instrumented code calls.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::output;

/// The library with the agent and the recorder, which Cargo links before the program (`build.rs`); empty after `cargo check` only.
pub(crate) static LIBRARY: &[u8] = include_bytes!(env!("ANRSCOPE_EMBEDDED_LIBRARY"));

/// Writes the library into `dir`/runtime, in place of an earlier run's, and returns its path.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn unpack_library(dir: &Path) -> io::Result<PathBuf> {
    let bytes = library()?;
    let directory = dir.join("runtime");
    fs::create_dir_all(&directory)?;
    let library = directory.join(LIBRARY_NAME);
    // A library that a running JVM has mapped must not be overwritten: remove it and create another file.
    output::remove(&library)?;
    fs::write(&library, bytes)?;
    Ok(library)
}

/// The library's bytes.
///
/// # Errors
/// If this program was built without it.
pub(crate) fn library() -> io::Result<&'static [u8]> {
    if LIBRARY.is_empty() {
        let cure = "build it again after `cargo clean --release -p anrscope-jvm-agent`";
        return Err(io::Error::other(format!(
            "this program was built without the library for the JVM: {cure}"
        )));
    }
    Ok(LIBRARY)
}

/// The name of the library's file.
pub(crate) const LIBRARY_NAME: &str = "libanrscope.so";

/// A number that tells versions of the library apart.
pub(crate) fn library_number() -> u64 {
    let mut hash = trace_format::MapHash::default();
    hash.add(LIBRARY);
    hash.state()
}
