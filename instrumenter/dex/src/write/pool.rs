//! Sections in which equal items are written once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use super::output::Output;

/// A section.
#[derive(Debug)]
pub(super) struct Pool {
    bytes: Vec<u8>,
    alignment: usize,
    count: usize,
    /// Items by hash. Of two items with the same hash only the first is found again, so that no input makes this slow.
    items: HashMap<u64, Range<usize>>,
}

impl Pool {
    pub(super) fn new(alignment: usize) -> Self {
        Self { bytes: Vec::new(), alignment, count: 0, items: HashMap::new() }
    }

    /// Items of the section.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// What is appended to the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offset in the section of an item, which is added if it is new.
    pub(super) fn add(&mut self, item: &[u8]) -> usize {
        // Its keys are constants: what is found again does not depend on the run.
        let mut hasher = DefaultHasher::new();
        hasher.write(item);
        let hash = hasher.finish();
        if let Some(range) = self.items.get(&hash)
            && self.bytes.get(range.clone()) == Some(item)
        {
            return range.start;
        }
        self.bytes.align(self.alignment);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(item);
        self.items.entry(hash).or_insert(start..self.bytes.len());
        self.count += 1;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_written_once_and_others_aligned() {
        let mut pool = Pool::new(4);
        assert_eq!([pool.add(b"abcde"), pool.add(b"f"), pool.add(b"abcde")], [0, 8, 0]);
        assert_eq!(pool.bytes(), b"abcde\0\0\0f");
        assert_eq!(pool.count(), 2);
    }
}
