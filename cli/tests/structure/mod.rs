//! No cycles between the modules of a crate. That crates have none, Cargo sees; which may use which, `docs/architecture.md` says.

mod modules;
mod source;

use test_support::root;

/// The directories of the workspace's crates.
pub(crate) fn members() -> Vec<String> {
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let list = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
