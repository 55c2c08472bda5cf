//! Sections in which equal items are written once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use super::output::Output;

/// A section.
#[derive(Debug)]
pub(super) struct Pool {
    /// The offset of the section in the file.
    at: u32,
    /// The bytes that are appended to the file.
    pub(super) bytes: Vec<u8>,
    /// The alignment of each item.
    pub(super) alignment: usize,
    /// Items of the section.
    pub(super) count: usize,
    /// Items by hash. Of two items with the same hash only the first is found again, so that no input makes this slow.
    items: HashMap<u64, Range<usize>>,
}

impl Pool {
    /// Creates a section that is to be at this offset in the file.
    pub(super) fn new(at: u32, alignment: usize) -> Self {
        Self { at, bytes: Vec::new(), alignment, count: 0, items: HashMap::new() }
    }

    /// The offset in the file of an item, which is added if it is new.
    pub(super) fn add(&mut self, item: &[u8]) -> u32 {
        // Its keys are constants: what is found again does not depend on the run.
        let mut hasher = DefaultHasher::new();
        hasher.write(item);
        let hash = hasher.finish();
        if let Some(range) = self.items.get(&hash)
            && self.bytes.get(range.clone()) == Some(item)
        {
            return self.at.wrapping_add(range.start as u32);
        }
        self.bytes.align(self.alignment);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(item);
        self.items.entry(hash).or_insert(start..self.bytes.len());
        self.count += 1;
        self.at.wrapping_add(start as u32)
    }

    /// Adds an item that is a list: the number of words, and the words.
    pub(super) fn add_list(&mut self, words: &[u32]) -> u32 {
        let mut item = Vec::with_capacity(4 + 4 * words.len());
        item.u32(words.len() as u32);
        words.iter().for_each(|&word| item.u32(word));
        self.add(&item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_written_once_and_others_aligned() {
        let mut pool = Pool::new(100, 4);
        assert_eq!([pool.add(b"abcde"), pool.add(b"f"), pool.add(b"abcde")], [100, 108, 100]);
        assert_eq!(pool.bytes, b"abcde\0\0\0f");
        assert_eq!(pool.count, 2);
    }
}
