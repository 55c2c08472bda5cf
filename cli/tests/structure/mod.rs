//! No cycles between the modules of a crate. That crates have none, Cargo sees; which may use which, `docs/architecture.md` says.

mod modules;
mod source;

use std::path::{Path, PathBuf};

/// The workspace's directory.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The directories of the workspace's crates.
fn members() -> Vec<String> {
    let workspace = std::fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let list = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
