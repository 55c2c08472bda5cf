//! Compares README and docs with the repository and the program: their commands run and print what the page shows, the files and
//! options that they name exist, and their words are spelled right. The words of all tracked text are checked as well.

#![cfg(target_os = "linux")]

mod architecture;
mod commands;
mod exceptions;
mod links;
mod markdown;
mod masks;
mod names;
mod phrases;
mod readme;
mod spelling;

use std::path::{Path, PathBuf};

/// The top of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
