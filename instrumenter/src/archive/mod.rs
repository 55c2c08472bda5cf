//! Jars and aars: read whole, their classes looked at in parallel, written entry by entry in the old
//! order.
//!
//! What is not a changed class is copied raw: same compressed bytes, same time, same attributes,
//! comments and extra fields.

mod in_order;
mod manifest;
pub(crate) mod read;
mod signature;
pub(crate) mod write;

use std::borrow::Cow;
use std::path::PathBuf;

use crate::cache::Item;
use crate::error::Error;
use crate::zip::directory::Directory;

/// What becomes of an entry.
pub(crate) enum EntryAction {
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

pub(crate) struct Archive {
    /// The input it is, or lies in.
    pub(crate) path: PathBuf,
    /// Entry name of the jar in the aar and `!/`, or nothing.
    pub(crate) prefix: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) directory: Directory,
    /// For each entry of the directory.
    pub(crate) actions: Vec<EntryAction>,
    /// A manifest for a jar that had none.
    pub(crate) new_manifest: Option<Vec<u8>>,
    /// Its classes and those of the jars inside, for the cache.
    items: Vec<Item>,
}

impl Archive {
    /// The name of an entry as text: for messages, and to tell what kind of file it is. It is copied as
    /// the bytes that it is.
    pub(crate) fn name(&self, index: usize) -> Cow<'_, str> {
        let entry = self.directory.entries.get(index);
        let name = entry.and_then(|entry| self.bytes.get(entry.name.clone()));
        String::from_utf8_lossy(name.unwrap_or_default())
    }

    /// The name of an entry in the input, which may hold the archive.
    pub(crate) fn full_name(&self, index: usize) -> Cow<'_, str> {
        let name = self.name(index);
        if self.prefix.is_empty() { name } else { format!("{}{name}", self.prefix).into() }
    }

    /// The name of an entry for messages.
    pub(crate) fn entry_name(&self, index: usize) -> String {
        self.full_name(index).into_owned()
    }

    /// What the cache is to know of its classes.
    pub(crate) fn take_items(&mut self) -> Vec<Item> {
        core::mem::take(&mut self.items)
    }

    fn entry_error(&self, index: usize, reason: &impl ToString) -> Error {
        Error::Entry { path: self.path.clone(), entry: self.entry_name(index), reason: reason.to_string() }
    }
}
