//! Compares README and docs with the repository and the program: their commands run and print what the page shows, the files and
//! options that they name exist, and their words are spelled right. Sources are checked by the rules of writing.

#![cfg(target_os = "linux")]

mod architecture;
mod commands;
mod exceptions;
mod files;
mod language;
mod leftovers;
mod links;
mod markdown;
mod masks;
mod names;
mod readme;
mod spelling;

use std::path::{Path, PathBuf};

/// The top of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
