//! The content of the cache: what was known after the previous run, and what this run saves.

use trace_format::MapId;

use super::packed::Packed;
use crate::stamp::{Stamp, Sum};

/// Why a cache with invalid fields is rejected.
pub(crate) const DAMAGED: &str = "damaged";

/// What was known after the previous run.
#[derive(Debug)]
pub(crate) struct Saved<'c> {
    pub(crate) maps: SavedMaps,
    pub(crate) inputs: Vec<SavedInput<'c>>,
}

/// What the maps depend on, and their paths.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SavedMaps {
    pub(crate) id: MapId,
    /// See [`crate::method_map::MethodMap::states`].
    pub(crate) states: Vec<u64>,
    /// The result of [`crate::cost::limits::called`] for all classes.
    pub(crate) called: Vec<u64>,
    /// Whether every class could be read.
    pub(crate) is_whole: bool,
    /// Stamps of the archives on the class path; [`Stamp::NONE`] for a directory.
    pub(crate) class_path: Vec<Stamp>,
    /// The map files and their stamps.
    pub(crate) files: Vec<(String, Stamp)>,
}

/// An input with its items, of which those that are classes have a `Class`.
#[derive(Debug, Default)]
pub(crate) struct Listed<Name, Class> {
    /// The stamp of the archive.
    pub(crate) stamp: Stamp,
    /// The stamp of the archive that was written.
    pub(crate) output: Stamp,
    /// Whether the input had no warnings and no skips.
    pub(crate) is_quiet: bool,
    /// The subdirectories of a directory.
    pub(crate) directories: Vec<Name>,
    pub(crate) items: Vec<Item<Name, Class>>,
}

/// A file of a directory, or a class of an archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Item<Name, Class> {
    /// The path in the directory, or the name of the entry.
    pub(crate) name: Name,
    /// The stamps of the file and of its output; unused in an archive.
    pub(crate) stamp: Stamp,
    pub(crate) output: Stamp,
    /// The checksum of the file, or of the compressed bytes of an entry.
    pub(crate) sum: Sum,
    pub(crate) is_class: bool,
    /// True if the class of the previous run has something to report in every run.
    pub(crate) again: bool,
    /// `None` for other files, and for a class that could not be read.
    pub(crate) class: Option<Class>,
}

/// An input as the previous run knew it.
pub(crate) type SavedInput<'c> = Listed<&'c str, Packed<'c>>;
pub(crate) type SavedItem<'c> = Item<&'c str, Packed<'c>>;

/// The state of an input that this run saves; its classes are their numbers in the run.
pub(crate) type Listing = Listed<String, usize>;
