//! The classes of the previous run that have changed or no longer exist.

use std::collections::{HashMap, HashSet};

use crate::class_facts::{ClassFacts, Verdict};

/// Classes of the previous run that were not found unchanged, by name.
#[derive(Default)]
pub(crate) struct ReplacedClasses {
    classes: HashMap<String, ClassFacts>,
    /// Names of those that still exist, changed.
    found: HashSet<String>,
    differs: bool,
}

impl ReplacedClasses {
    pub(crate) fn add(&mut self, mut facts: ClassFacts) {
        if let Some(twin) = self.classes.remove(&facts.name) {
            // The same class in two inputs: the ids are those of both.
            self.differs = true;
            facts.methods.extend(twin.methods);
        }
        self.classes.insert(facts.name.clone(), facts);
    }

    /// Gives the methods of a changed class their previous ids.
    pub(crate) fn keep_ids(&mut self, class: &mut ClassFacts) {
        let Some(old) = self.classes.get(&class.name) else {
            self.differs = true;
            return;
        };
        self.found.insert(class.name.clone());
        self.differs |= old.methods.len() != class.methods.len() || old.source_file != class.source_file;
        let by_key = old.by_key();
        for method in &mut class.methods {
            let before = by_key.get(&method.key());
            self.differs |= !before.is_some_and(|before| before.is_same_in_maps(method));
            if let Some(before) = before.filter(|_| method.verdict == Verdict::Trace) {
                method.kept_id = before.kept_id;
            }
        }
    }

    /// Returns whether the maps change, after all changed classes have their previous ids.
    pub(crate) fn changes_maps(&self) -> bool {
        self.differs || self.found.len() != self.classes.len()
    }
}
