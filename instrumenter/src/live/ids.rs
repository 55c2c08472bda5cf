//! The ids of methods, in the order in which their classes are loaded.

use std::collections::HashMap;

use trace_format::ids;

use crate::base_map::BaseMap;
use crate::class_facts::body::key;
use crate::class_facts::{ClassFacts, Verdict};

/// The ids so far, by class and method.
#[derive(Debug)]
pub(super) struct Ids {
    /// By the class's name in the map; for each method the hash of its name and descriptor, and its id.
    known: HashMap<Box<str>, Vec<(u64, u32)>>,
    next: u32,
    count: u32,
}

/// The ids of a class, before they are [kept](Ids::keep).
#[derive(Debug)]
pub(super) struct Assigned {
    /// In the order of the class file; 0 for a method that is not traced.
    ids: Vec<u32>,
    /// Index and id of the methods that had no id before.
    pub(super) new: Vec<(usize, u32)>,
}

impl Ids {
    /// The ids that follow those of `base`.
    pub(super) fn after(base: &BaseMap) -> Self {
        Self { known: HashMap::new(), next: base.next_id(), count: 0 }
    }

    /// Whether a class with this name in the map has ids.
    pub(super) fn has(&self, class: &str) -> bool {
        self.known.contains_key(class)
    }

    /// Returns the id of a method.
    pub(super) fn find(&self, class: &str, method: &str, descriptor: &str) -> Option<u32> {
        let key = key(method, descriptor);
        self.known.get(class)?.iter().find(|(known, _)| *known == key).map(|(_, id)| *id)
    }

    /// How many methods have an id.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the ids of the traced methods of a class; `None` if there are not enough left.
    pub(super) fn of(&self, facts: &ClassFacts, base: &BaseMap) -> Option<Assigned> {
        let known = self.known.get(facts.name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let mut assigned = Assigned { ids: vec![0; facts.methods.len()], new: Vec::new() };
        let mut next = self.next;
        for (index, (method, slot)) in facts.methods.iter().zip(&mut assigned.ids).enumerate() {
            if method.verdict != Verdict::Trace {
                continue;
            }
            let key = key(&method.name, &method.descriptor);
            if let Some(&(_, id)) = known.iter().find(|(known, _)| *known == key) {
                *slot = id;
                continue;
            }
            *slot = match base.id(&facts.name, &method.name, &method.descriptor) {
                Some(id) => id,
                None if ids::is_method(next) => {
                    next += 1;
                    next - 1
                }
                None => return None,
            };
            assigned.new.push((index, *slot));
        }
        Some(assigned)
    }

    /// Keeps the ids of a class, and returns them.
    pub(super) fn keep(&mut self, facts: &ClassFacts, assigned: Assigned) -> Vec<u32> {
        if !assigned.new.is_empty() {
            let known = self.known.entry(facts.name.as_str().into()).or_default();
            for &(index, id) in &assigned.new {
                if let Some(method) = facts.methods.get(index) {
                    known.push((key(&method.name, &method.descriptor), id));
                }
                self.next = self.next.max(id + 1);
                self.count += 1;
            }
        }
        assigned.ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_facts::tests::any_class;

    #[test]
    fn a_class_that_is_loaded_again_keeps_its_ids_and_a_new_version_adds_some() {
        let base = BaseMap::default();
        let mut ids = Ids::after(&base);
        let mut take = |facts: &ClassFacts| {
            let assigned = ids.of(facts, &base).unwrap();
            let new = assigned.new.len();
            (ids.keep(facts, assigned), new)
        };
        let mut first = any_class("a/B", &["x", "y", "z"]);
        first.methods[1].verdict = Verdict::Ignore;
        assert_eq!(take(&first), (vec![1, 0, 2], 2));
        assert_eq!(take(&any_class("a/C", &["x"])), (vec![3], 1));
        assert_eq!(take(&first), (vec![1, 0, 2], 0));
        assert_eq!(take(&any_class("a/B", &["z", "y", "x"])), (vec![2, 4, 1], 1));
    }

    #[test]
    fn ids_of_the_base_map_are_kept_and_new_ones_follow() {
        let base = BaseMap::parse("7,1,a.B y (La.B;)V\n").unwrap();
        let mut ids = Ids::after(&base);
        let facts = any_class("a/B", &["x", "y"]);
        let assigned = ids.of(&facts, &base).unwrap();
        assert_eq!(ids.keep(&facts, assigned), [8, 7]);
        assert_eq!((ids.next, ids.count()), (9, 2));
    }

    #[test]
    fn the_last_id_is_assigned_and_none_after_it() {
        let base = BaseMap::parse(&format!("{},1,a.Z z ()V\n", ids::METHOD_LAST - 1)).unwrap();
        let mut ids = Ids::after(&base);
        assert!(ids.of(&any_class("a/B", &["x", "y"]), &base).is_none());
        let facts = any_class("a/B", &["x"]);
        let assigned = ids.of(&facts, &base).unwrap();
        assert_eq!(ids.keep(&facts, assigned), [ids::METHOD_LAST]);
        assert!(ids.of(&any_class("a/C", &["x"]), &base).is_none());
        assert_eq!(ids.of(&facts, &base).unwrap().ids, [ids::METHOD_LAST], "known ones remain");
    }
}
