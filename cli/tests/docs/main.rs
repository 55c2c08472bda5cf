//! README and docs held against the repository and the program: what they say to type runs and prints what they say, what they
//! name is there, and their words are spelled right.

#![cfg(target_os = "linux")]

mod architecture;
mod commands;
mod exceptions;
#[path = "../cli/folder.rs"]
#[allow(dead_code, reason = "the other test binaries use more of it")]
mod folder;
mod links;
mod markdown;
mod masks;
mod names;
#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "the other test binaries use more of it")]
mod program;
mod spelling;

use std::path::{Path, PathBuf};

/// The top of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
