//! Jars and aars: read whole, their classes looked at in parallel, written entry by entry in the old
//! order.
//!
//! What is not a changed class is copied raw: same compressed bytes, same time, same attributes.

pub(crate) mod manifest;
pub(crate) mod read;
pub(crate) mod signature;
pub(crate) mod write;

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use zip::ZipArchive;

use crate::error::Error;

/// A whole file that many readers share.
#[derive(Clone)]
pub(crate) struct SharedBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Cheap to clone, and every worker has its own.
pub(crate) type Reader = ZipArchive<Cursor<SharedBytes>>;

/// What becomes of an entry.
pub(crate) enum Fate {
    Copy,
    Drop,
    /// The number of its class in the run, and its bytes if they were kept from the first look.
    Class {
        number: usize,
        bytes: Option<Vec<u8>>,
    },
    /// New contents for the manifest.
    Manifest(Vec<u8>),
    /// A jar inside an aar.
    Archive(Box<Archive>),
}

pub(crate) struct Entry {
    pub(crate) index: usize,
    pub(crate) fate: Fate,
}

pub(crate) struct Archive {
    /// The input it is, or lies in.
    pub(crate) path: PathBuf,
    /// Entry name of the jar in the aar and `!/`, or nothing.
    pub(crate) prefix: String,
    pub(crate) reader: Reader,
    pub(crate) entries: Vec<Entry>,
    /// A manifest for a jar that had none.
    pub(crate) new_manifest: Option<Vec<u8>>,
}

impl Archive {
    /// The name of an entry for messages.
    pub(crate) fn entry_name(&self, index: usize) -> String {
        let name = self.reader.name_for_index(index);
        let name = name.and_then(Result::ok).unwrap_or_default();
        format!("{}{name}", self.prefix)
    }

    fn entry_error(&self, index: usize, reason: &impl ToString) -> Error {
        Error::Entry { path: self.path.clone(), entry: self.entry_name(index), reason: reason.to_string() }
    }
}
