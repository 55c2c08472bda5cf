//! Jars and aars: read completely, scanned in parallel, and written entry by entry in the original order.
//!
//! Everything but a changed class is copied raw, with the same compressed bytes, time, attributes, comments and extra
//! fields.

mod in_order;
pub(crate) mod read;
pub(crate) mod write;

use std::borrow::Cow;
use std::path::PathBuf;

use zip_archive::Directory;

use crate::cache::Item;
use crate::error::Error;

/// What is done with an entry.
pub(crate) enum EntryAction {
    Copy,
    Drop,
    /// The number of its class in the run, and its bytes if they were kept from the scan.
    Class {
        number: usize,
        bytes: Option<Vec<u8>>,
    },
    /// A jar inside an aar.
    Archive(Box<Archive>),
}

pub(crate) struct Archive {
    /// The input that it is, or that contains it.
    pub(crate) path: PathBuf,
    /// The entry name of the jar in the aar and `!/`, or empty.
    pub(crate) prefix: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) directory: Directory,
    /// For each entry of the directory.
    pub(crate) actions: Vec<EntryAction>,
    /// Its classes and those of the jars inside it, for the cache.
    pub(crate) items: Vec<Item<String, usize>>,
}

impl Archive {
    /// Returns the name of an entry as text, for messages and to recognise its type. The entry itself is copied with
    /// the original bytes of its name.
    pub(crate) fn name(&self, index: usize) -> Cow<'_, str> {
        let entry = self.directory.entries.get(index);
        String::from_utf8_lossy(entry.map(|entry| entry.name_in(&self.bytes)).unwrap_or_default())
    }

    /// Returns the name of an entry in the input, which may be an aar that contains this jar.
    pub(crate) fn entry_name(&self, index: usize) -> String {
        format!("{}{}", self.prefix, self.name(index))
    }

    fn entry_error(&self, index: usize, reason: &impl ToString) -> Error {
        Error::Entry { path: self.path.clone(), entry: self.entry_name(index), reason: reason.to_string() }
    }
}
