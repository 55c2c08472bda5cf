//! Files that `scripts/install-test-needs` fetches.

use std::path::{Path, PathBuf};

/// One of them.
///
/// # Panics
/// If it is missing.
#[track_caller]
pub(crate) fn test_data(path: &str) -> PathBuf {
    let data = std::env::var_os("ANRSCOPE_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-data"), PathBuf::from);
    let path = data.join(path);
    assert!(path.exists(), "{} is missing: run scripts/test, which fetches it", path.display());
    path
}
