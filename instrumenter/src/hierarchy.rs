//! The class hierarchy: super types among the inputs first, then on the class path.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::class_facts::{ClassFacts, Node};
use crate::class_path::ClassPath;

/// The most classes and interfaces that are visited above one class. Real hierarchies are far smaller.
const MAX_STEPS: usize = 4096;

/// All names are internal ones, as in the class files.
#[derive(Debug, Default)]
pub(crate) struct Hierarchy {
    inputs: HashMap<Box<str>, Arc<Node>>,
    /// All threads use it, one at a time, so that each class is read only once.
    class_path: Mutex<ClassPath>,
}

impl Hierarchy {
    /// Of several classes with the same name, the first one counts.
    pub(crate) fn new(classes: &[ClassFacts], class_path: ClassPath) -> Self {
        Self { class_path: Mutex::new(class_path), ..Self::renamed(classes, str::to_owned) }
    }

    /// Of classes under other names, without a class path.
    pub(crate) fn renamed(classes: &[ClassFacts], name: impl Fn(&str) -> String) -> Self {
        let mut inputs = HashMap::with_capacity(classes.len());
        for class in classes {
            let supertypes = class.supertypes.iter().map(|above| name(above).into()).collect();
            let node = || Arc::new(Node { supertypes, focus: class.focus.clone() });
            inputs.entry(name(class.name_in_file()).into()).or_insert_with(node);
        }
        Self { inputs, class_path: Mutex::default() }
    }

    /// The classes of `paths`, and those that are [added](Self::add).
    pub(crate) fn later(paths: &[PathBuf]) -> Self {
        Self { inputs: HashMap::new(), class_path: Mutex::new(ClassPath::later(paths)) }
    }

    /// Adds a class while others are looked up.
    pub(crate) fn add(&self, name: &str, node: Node) {
        self.class_path.lock().unwrap_or_else(PoisonError::into_inner).add(name, node);
    }

    /// Adds a jar or a directory to those that are searched.
    pub(crate) fn search(&self, path: PathBuf) {
        self.class_path.lock().unwrap_or_else(PoisonError::into_inner).add_later(path);
    }

    /// Returns the class with this name; `None` if it is missing or broken.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Node>> {
        if let Some(node) = self.inputs.get(name) {
            return Some(Arc::clone(node));
        }
        self.class_path.lock().unwrap_or_else(PoisonError::into_inner).class(name)
    }

    /// Calls `visit` for everything reachable from `start`, once each, with whether it was found, until `visit`
    /// returns true.
    pub(crate) fn any(&self, start: &[&str], mut visit: impl FnMut(&str, bool) -> bool) -> bool {
        let mut pending: Vec<Box<str>> = start.iter().map(|&name| name.into()).collect();
        let mut seen = HashSet::new();
        while let Some(name) = pending.pop() {
            if seen.contains(&name) {
                continue;
            }
            if seen.len() >= MAX_STEPS {
                return true;
            }
            let node = self.find(&name);
            if visit(&name, node.is_some()) {
                return true;
            }
            seen.insert(name);
            pending.extend(node.into_iter().flat_map(|node| node.supertypes.to_vec()));
        }
        false
    }

    /// Returns whether `class` is `wanted`, or is known to inherit from it.
    pub(crate) fn is(&self, class: &str, wanted: &str) -> bool {
        class == wanted || self.any(&[class], |name, _| name == wanted)
    }

    /// Describes everything known above `class`. If two descriptions are equal, all questions about inheritance have
    /// equal answers.
    pub(crate) fn described(&self, class: &str) -> String {
        let mut text = String::new();
        let cut = self.any(&[class], |name, known| {
            let _ = writeln!(text, "{} {name}", if known { '+' } else { '-' });
            false
        });
        if cut {
            text.push('!');
        }
        text
    }
}

#[cfg(test)]
impl Hierarchy {
    /// Returns a hierarchy of these classes and their super types.
    pub(crate) fn from_pairs(classes: &[(&str, &[&str])]) -> Self {
        let facts = |&(name, supertypes): &(&str, &[&str])| ClassFacts {
            name: name.to_owned(),
            supertypes: supertypes.iter().map(|&name| name.into()).collect(),
            ..ClassFacts::default()
        };
        Self::new(&classes.iter().map(facts).collect::<Vec<_>>(), ClassPath::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_types_are_found_and_cycles_end() {
        let classes = Hierarchy::from_pairs(&[
            ("a/Base", &["java/lang/Object", "java/lang/Runnable"]),
            ("a/Leaf", &["a/Base", "a/Marker"]),
            ("a/Loop", &["a/Loop"]),
        ]);
        assert!(classes.is("a/Leaf", "java/lang/Runnable"));
        assert!(classes.is("java/lang/Thread", "java/lang/Thread"));
        assert!(!classes.is("a/Base", "java/lang/Thread") && !classes.is("a/Loop", "a/Base"));
        assert_eq!(
            classes.described("a/Leaf"),
            "+ a/Leaf\n- a/Marker\n+ a/Base\n- java/lang/Runnable\n- java/lang/Object\n"
        );
    }
}
