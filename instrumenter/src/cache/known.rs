//! What the cache knows about the input that is being scanned.

use std::collections::HashMap;

use super::packed::Packed;
use super::saved::{SavedInput, SavedItem};
use crate::stamp::Sum;

/// The items of an input of the previous run.
#[derive(Default)]
pub(crate) struct Known<'c> {
    saved: SavedInput<'c>,
    /// Which of them were found again.
    found: Vec<bool>,
    /// The index at which the next item is expected.
    next: usize,
    by_name: Option<HashMap<&'c str, usize>>,
}

impl<'c> Known<'c> {
    pub(crate) fn new(saved: SavedInput<'c>) -> Self {
        Self { found: vec![false; saved.items.len()], saved, next: 0, by_name: None }
    }

    /// Returns the index of the item with this name. Items mostly come in the order of the previous run; only others
    /// are searched for.
    pub(crate) fn place(&mut self, name: &str) -> Option<usize> {
        let items = &self.saved.items;
        if items.is_empty() {
            return None;
        }
        let expected = items.get(self.next).filter(|item| item.name == name).map(|_| self.next);
        let place = expected.or_else(|| {
            let by_name = self.by_name.get_or_insert_with(|| {
                items.iter().enumerate().map(|(index, item)| (item.name, index)).collect()
            });
            by_name.get(name).copied()
        })?;
        self.next = place + 1;
        if let Some(found) = self.found.get_mut(place) {
            *found = true;
        }
        Some(place)
    }

    pub(crate) fn get(&self, place: Option<usize>) -> Option<&SavedItem<'c>> {
        self.saved.items.get(place?)
    }

    /// Returns checksum and facts of an item. The facts are returned only once.
    pub(crate) fn take(&mut self, place: Option<usize>) -> (Sum, Option<Packed<'c>>) {
        let item = place.and_then(|place| self.saved.items.get_mut(place));
        item.map_or_else(Default::default, |item| (item.sum, item.class.take()))
    }

    pub(crate) fn directories(&self) -> &[&'c str] {
        &self.saved.directories
    }

    /// Returns the names of the items that were not found again.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &'c str> {
        let items = self.saved.items.iter().zip(&self.found);
        items.filter(|(_, found)| !**found).map(|(item, _)| item.name)
    }

    /// Returns the classes that were not taken: they no longer exist or cannot be read any more.
    pub(crate) fn into_rest(self) -> impl Iterator<Item = Packed<'c>> {
        self.saved.items.into_iter().filter_map(|item| item.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_in_any_order() {
        let item = |name| SavedItem { name, ..SavedItem::default() };
        let saved = SavedInput { items: ["a", "b", "c", "d"].map(item).into(), ..SavedInput::default() };
        let mut known = Known::new(saved);
        assert_eq!(["a", "new", "c", "b"].map(|name| known.place(name)), [Some(0), None, Some(2), Some(1)]);
        assert_eq!(known.lost().collect::<Vec<_>>(), ["d"]);
        assert_eq!(known.get(Some(2)).map(|item| item.name), Some("c"));
        assert_eq!(Known::default().place("a"), None);
    }
}
