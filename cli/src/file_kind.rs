//! What a file of the command line is.

use std::path::Path;

pub(crate) use exporter::FileKind;

/// What to do with the file at `path`, which the command `given` does not take: [`FileKind::instead_of`] of its kind, if known.
pub(crate) fn error_of(given: &str, path: &Path) -> Option<anyhow::Error> {
    FileKind::of(path).ok()?.instead_of(given, path).map(anyhow::Error::msg)
}
