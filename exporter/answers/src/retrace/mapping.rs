//! The content of a mapping.

use std::collections::HashMap;

use super::index::Index;
use super::row::Row;

/// A parsed mapping.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// By the name in the build.
    pub(super) classes: HashMap<Box<str>, Class>,
    /// Source files by original class, if the mapping has them.
    pub(super) files: HashMap<Box<str>, Box<str>>,
    /// R8's `pg_map_id` and `pg_map_hash`.
    pub(super) ids: Vec<String>,
    /// Number of lines that are not part of a mapping, and the first of them, from 1.
    pub unread: (usize, Option<usize>),
    pub(super) lines: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub(super) original: Box<str>,
    pub(super) file: Option<Box<str>>,
    pub(super) synthesized: bool,
    /// By the name in the build.
    pub(super) methods: HashMap<Box<str>, Method>,
}

/// All methods with one name in the build.
#[derive(Clone, Debug, Default)]
pub(super) struct Method {
    /// In the file's order.
    pub(super) rows: Vec<Row>,
    /// Built when all rows are present.
    pub(super) index: Index,
}

impl Mapping {
    /// Number of mapped classes.
    #[must_use]
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Whether this mapping belongs to a build whose source files are named `r8-map-id-ID`. `None` if the
    /// mapping has no id.
    #[must_use]
    pub fn is_of(&self, id: &str) -> Option<bool> {
        let same = |own: &String| !id.is_empty() && (own.starts_with(id) || id.starts_with(own.as_str()));
        (!self.ids.is_empty()).then(|| self.ids.iter().any(same))
    }
}
