//! How the workspace is built: which crate may use which, and no cycles between the modules of a crate.

mod crates;
mod modules;
mod source;

use std::path::{Path, PathBuf};

/// The workspace's directory.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
