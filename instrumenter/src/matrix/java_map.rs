//! A map with the iteration order of Java's `ConcurrentHashMap` after insertions by one thread.
//!
//! Matrix's list of ignored methods is sorted by class only; within a class it has the order of such a map. The order
//! follows from the hashes and the times at which the table grows, as in the JDK's source
//! (`java.util.concurrent.ConcurrentHashMap`, equivalent from Java 8 to 21):
//! * a table of 16 bins, doubled as soon as it holds three quarters of its size;
//! * a new entry is added at the end of its bin, or at the front of a bin that has become a tree;
//! * growing moves the last run of entries that go to the same half unchanged, and prepends the entries before it one
//!   by one, which reverses them;
//! * a ninth entry in a bin makes the table grow, or, with 64 or more bins, turns the bin into a tree.

use std::collections::HashMap;

/// The number of entries above which a bin is changed.
const TREEIFY: usize = 8;
/// The most entries with which a divided tree becomes a list again.
const UNTREEIFY: usize = 6;
/// With fewer bins, the table grows instead.
const MIN_TREEIFY: usize = 64;

#[derive(Clone, Default)]
struct Bin {
    /// Spread hashes and indices in `values`, in order.
    nodes: Vec<(u32, usize)>,
    tree: bool,
}

pub(crate) struct JavaMap<V> {
    table: Vec<Bin>,
    places: HashMap<String, usize>,
    values: Vec<V>,
}

/// `String.hashCode`, spread as in the map.
fn hash(key: &str) -> u32 {
    let hash =
        key.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)));
    (hash ^ (hash >> 16)) & 0x7FFF_FFFF
}

impl<V> Default for JavaMap<V> {
    fn default() -> Self {
        Self { table: vec![Bin::default(); 16], places: HashMap::new(), values: Vec::new() }
    }
}

impl<V> JavaMap<V> {
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Inserts a value, or replaces the one with the same key.
    pub(crate) fn put(&mut self, key: String, value: V) {
        let hash = hash(&key);
        let at = hash as usize & (self.table.len() - 1);
        let Some(bin) = self.table.get_mut(at) else { return };
        if let Some(&place) = self.places.get(&key) {
            if let Some(slot) = self.values.get_mut(place) {
                *slot = value;
            }
            let passed = bin.nodes.iter().position(|&(_, node)| node == place).map_or(0, |index| index + 1);
            if !bin.tree && passed >= TREEIFY {
                self.crowded(at);
            }
            return;
        }
        let place = self.values.len();
        self.values.push(value);
        self.places.insert(key, place);
        if bin.tree {
            bin.nodes.insert(0, (hash, place));
        } else {
            bin.nodes.push((hash, place));
            if bin.nodes.len() > TREEIFY {
                self.crowded(at);
            }
        }
        while self.values.len() >= self.limit() {
            self.grow();
        }
    }

    fn limit(&self) -> usize {
        self.table.len() - (self.table.len() >> 2)
    }

    /// Handles bin `at`, which has become long.
    fn crowded(&mut self, at: usize) {
        let bins = self.table.len();
        if bins < MIN_TREEIFY {
            // `tryPresize(2 * bins)`: to the next power of two above three times the bins.
            let wanted = (3 * bins + 1).next_power_of_two();
            while wanted > self.limit() {
                self.grow();
            }
        } else if let Some(bin) = self.table.get_mut(at) {
            bin.tree = true;
        }
    }

    fn grow(&mut self) {
        let bins = self.table.len();
        let mut table = vec![Bin::default(); 2 * bins];
        for (at, bin) in core::mem::take(&mut self.table).into_iter().enumerate() {
            let (low, high) = divide(bin, bins as u32);
            for (at, half) in [(at, low), (at + bins, high)] {
                if let Some(slot) = table.get_mut(at) {
                    *slot = half;
                }
            }
        }
        self.table = table;
    }

    /// Returns the values in the map's order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        let nodes = self.table.iter().flat_map(|bin| &bin.nodes);
        nodes.filter_map(|&(_, place)| self.values.get(place))
    }
}

/// Divides a bin in two by the bit of the hash that the larger table adds.
fn divide(bin: Bin, bit: u32) -> (Bin, Bin) {
    let is_high = |&(hash, _): &(u32, usize)| hash & bit != 0;
    if bin.tree {
        let half = |high: bool| {
            let nodes: Vec<_> = bin.nodes.iter().copied().filter(|node| is_high(node) == high).collect();
            Bin { tree: nodes.len() > UNTREEIFY, nodes }
        };
        return (half(false), half(true));
    }
    let last_side = bin.nodes.last().is_some_and(is_high);
    let run = bin.nodes.iter().rposition(|node| is_high(node) != last_side).map_or(0, |before| before + 1);
    let (before, run) = bin.nodes.split_at(run);
    let half = |high: bool| {
        let before = before.iter().rev().filter(|node| is_high(node) == high);
        let run = run.iter().filter(|_| high == last_side);
        Bin { nodes: before.chain(run).copied().collect(), tree: false }
    };
    (half(false), half(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_java() {
        // "Aa" and "BB" are the well-known pair with one hash, 2112.
        assert_eq!(hash("Aa"), 2112);
        assert_eq!(hash("BB"), 2112);
        assert_eq!(hash(""), 0);
        // "hello".hashCode() is 99162322; spread with its upper half.
        assert_eq!(hash("hello"), 99_162_322 ^ (99_162_322 >> 16));
    }

    #[test]
    fn a_value_is_replaced_in_its_place() {
        let mut map = JavaMap::default();
        for (key, value) in [("Aa", 1), ("BB", 2), ("Aa", 3)] {
            map.put(key.to_owned(), value);
        }
        assert_eq!(map.values().copied().collect::<Vec<_>>(), [3, 2]);
        assert!(map.contains("BB") && !map.contains("Cc"));
    }
}
