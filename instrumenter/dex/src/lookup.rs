//! Where the entries of tables are that were added to a file.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

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
#[derive(Clone, Debug, Default)]
pub(crate) struct Added<K> {
    /// Entries that are sorted.
    pub(crate) sorted: usize,
    /// Entries behind the sorted ones that are in `indices`.
    known: usize,
    indices: HashMap<K, u32>,
}

impl<K: Hash + Eq> Added<K> {
    /// Finds an entry of `table` by its key. `compare` finds it among the sorted entries, `key_of` gives the keys of the others.
    pub(crate) fn find<T, Q: ?Sized + Hash + Eq>(
        &mut self,
        table: &[T],
        key: &Q,
        key_of: impl Fn(&T) -> K,
        compare: impl Fn(&T) -> Ordering,
    ) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        let first = self.sorted + self.known;
        for (entry, index) in table.get(first..).unwrap_or_default().iter().zip(first as u32..) {
            self.indices.entry(key_of(entry)).or_insert(index);
            self.known += 1;
        }
        let sorted = table.get(..self.sorted).unwrap_or(table);
        let found = sorted.binary_search_by(compare).ok().map(|index| index as u32);
        found.or_else(|| self.indices.get(key).copied())
    }
}
