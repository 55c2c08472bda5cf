//! Where the entries of tables are that were added to a file.

use std::collections::HashMap;

/// How far the tables of a [`Dex`](crate::Dex) are sorted, and where the entries behind that are. The default is right for any tables.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    pub(crate) strings: Added<Box<[u8]>>,
    pub(crate) types: Added<u32>,
    /// By result and parameters.
    pub(crate) protos: Added<(u32, Box<[u32]>)>,
    /// By class, name and type; methods by class, name and proto.
    pub(crate) fields: Added<(u32, u32, u32)>,
    pub(crate) methods: Added<(u32, u32, u32)>,
}

/// Entries behind the sorted ones.
#[derive(Clone, Debug)]
pub(crate) struct Added<K> {
    /// Entries that are sorted.
    pub(crate) sorted: usize,
    /// Entries behind the sorted ones that are in `indices`.
    known: usize,
    indices: HashMap<K, u32>,
}

impl<K> Default for Added<K> {
    fn default() -> Self {
        Self { sorted: 0, known: 0, indices: HashMap::new() }
    }
}

impl<K: std::hash::Hash + Eq> Added<K> {
    /// Adds the entries that are not known yet, with `key` for each.
    pub(crate) fn catch_up<T>(&mut self, table: &[T], key: impl Fn(&T) -> K) {
        let first = self.sorted + self.known;
        for (entry, index) in table.get(first..).unwrap_or_default().iter().zip(first as u32..) {
            self.indices.entry(key(entry)).or_insert(index);
            self.known += 1;
        }
    }

    /// The index of an entry behind the sorted ones.
    pub(crate) fn index<Q: ?Sized + std::hash::Hash + Eq>(&self, key: &Q) -> Option<u32>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.indices.get(key).copied()
    }

    /// The entries that are sorted.
    pub(crate) fn sorted<'t, T>(&self, table: &'t [T]) -> &'t [T] {
        table.get(..self.sorted).unwrap_or(table)
    }
}
