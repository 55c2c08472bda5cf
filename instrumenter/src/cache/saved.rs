//! What the cache keeps: what was known after the last run, and what this one writes down.

use trace_format::MapId;

use super::packed::Packed;
use crate::stamp::{Stamp, Sum};

/// Why a cache is of no use whose fields make no sense.
pub(crate) const DAMAGED: &str = "it is damaged";

/// What was known after the last run.
#[derive(Debug)]
pub(crate) struct Saved<'c> {
    pub(crate) maps: SavedMaps,
    pub(crate) inputs: Vec<SavedInput<'c>>,
}

/// What the maps were made of, and where they lie.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SavedMaps {
    pub(crate) id: MapId,
    /// See [`crate::method_map::MethodMap::states`].
    pub(crate) states: Vec<u64>,
    /// What [`crate::cost::limits::called`] says of all classes.
    pub(crate) called: Vec<u64>,
    /// Whether every class could be read.
    pub(crate) is_whole: bool,
    /// Of the archives on the class path; none for a directory.
    pub(crate) class_path: Vec<Stamp>,
    /// The map files and their stamps.
    pub(crate) files: Vec<(String, Stamp)>,
}

#[derive(Debug, Default)]
pub(crate) struct SavedInput<'c> {
    /// Of the archive.
    pub(crate) stamp: Stamp,
    /// Of the archive that was written.
    pub(crate) output: Stamp,
    /// Whether there was nothing to tell of it: no warning, and no class that was left.
    pub(crate) is_quiet: bool,
    /// The directories in a directory.
    pub(crate) directories: Vec<&'c str>,
    pub(crate) items: Vec<SavedItem<'c>>,
}

/// A file of a directory, or a class of an archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct SavedItem<'c> {
    /// Path in the directory, or name of the entry.
    pub(crate) name: &'c str,
    /// Of the file, and of the file that was written. Of no use in an archive.
    pub(crate) stamp: Stamp,
    pub(crate) output: Stamp,
    /// Of the file, or of the compressed bytes of an entry.
    pub(crate) sum: Sum,
    pub(crate) is_class: bool,
    /// Whether something is to be told of the class every time.
    pub(crate) again: bool,
    /// None for other files, and for a class that could not be read.
    pub(crate) class: Option<Packed<'c>>,
}

/// A file of a directory, or a class of an archive, as this run found it.
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) stamp: Stamp,
    pub(crate) output: Stamp,
    pub(crate) sum: Sum,
    pub(crate) is_class: bool,
    /// Number of its class in the run.
    pub(crate) number: Option<usize>,
}

/// What a run writes down of an input.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) stamp: Stamp,
    pub(crate) output: Stamp,
    pub(crate) is_quiet: bool,
    pub(crate) directories: Vec<String>,
    pub(crate) items: Vec<Item>,
}
