//! The methods of the program that a call can reach.
//!
//! A call of a static, private or final method, of a constructor, or by `super` reaches one method, found as the JVM
//! finds it. A virtual call can reach the declared or inherited method of its class and every override in subclasses.
//! These are known only if no class outside the program can extend the classes in question: if a class is final, or
//! package-private with only such subclasses, or if the method is package-private. A public non-final class can be
//! extended by classes that are never inputs: proxies that persistence layers and test libraries generate at run
//! time, plug-ins, and the app, if a library is instrumented. A call of such a method may reach unknown code.

use std::collections::HashMap;

use super::known;
use crate::class::class_file::access;
use crate::class_facts::body::{Call, CallKind};
use crate::class_facts::{ClassFacts, MethodFacts};

/// The longest chain of super classes; a longer one is a cycle.
const MAX_DEPTH: usize = 1000;
/// The most targets of a virtual call that are followed.
const MAX_TARGETS: usize = 64;

/// The indices of a class and of a method in it.
pub(super) type Target = (usize, usize);

pub(super) struct Program<'a> {
    classes: &'a [ClassFacts],
    /// `None` for a name of several classes, because it is unknown which one is loaded.
    by_name: HashMap<&'a str, Option<usize>>,
    /// For each class, its direct subclasses.
    below: Vec<Vec<usize>>,
    /// Whether these are all classes of the program.
    is_whole: bool,
}

impl<'a> Program<'a> {
    pub(super) fn new(classes: &'a [ClassFacts], is_whole: bool) -> Self {
        let mut by_name = HashMap::with_capacity(classes.len());
        for (number, class) in classes.iter().enumerate() {
            by_name.entry(class.name_in_file()).and_modify(|found| *found = None).or_insert(Some(number));
        }
        let mut this = Self { classes, by_name, below: vec![Vec::new(); classes.len()], is_whole };
        for (number, class) in classes.iter().enumerate() {
            let above = class.super_class().and_then(|above| this.find(above));
            if let Some(below) = above.and_then(|above| this.below.get_mut(above)) {
                below.push(number);
            }
        }
        this
    }

    /// Returns the class with this name, if there is exactly one.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().flatten()
    }

    pub(super) fn method(&self, (class, method): Target) -> Option<&'a MethodFacts> {
        self.classes.get(class)?.methods.get(method)
    }

    /// Returns all methods that `call`, in a method of class `from`, can reach; `None` if one is unknown.
    pub(super) fn targets(&self, from: usize, call: &Call) -> Option<Vec<Target>> {
        let named = self.find(&call.class)?;
        match call.how {
            CallKind::Static => Some(vec![self.resolve(named, call)?]),
            CallKind::Special if &*call.name == "<init>" => Some(vec![self.declared(named, call)?]),
            CallKind::Special if named == from => Some(vec![self.declared(named, call)?]),
            CallKind::Special => {
                // The JVM starts at the direct super class, even if the call names a different one. Default methods of
                // interfaces are not followed.
                let above = self.find(self.classes.get(from)?.super_class()?)?;
                (above == named).then_some(vec![self.resolve(above, call)?])
            }
            CallKind::Initialize => self.initializers(named),
            CallKind::Virtual => self.virtual_targets(named, call),
        }
    }

    /// Returns the static initializers that the first use of `class` runs: its own and those of its super types.
    fn initializers(&self, class: usize) -> Option<Vec<Target>> {
        let mut targets = Vec::new();
        let (mut pending, mut seen) = (vec![class], vec![class]);
        while let Some(here) = pending.pop() {
            let facts = self.classes.get(here)?;
            let own = facts.methods.iter().position(|method| method.key_in_file() == ("<clinit>", "()V"));
            targets.extend(own.map(|method| (here, method)));
            for above in facts.supertypes.iter().filter(|above| !known::is_platform(above.as_bytes())) {
                let above = self.find(above)?;
                if !seen.contains(&above) {
                    seen.push(above);
                    pending.push(above);
                }
            }
            if seen.len() > MAX_TARGETS {
                return None;
            }
        }
        Some(targets)
    }

    fn declared(&self, class: usize, call: &Call) -> Option<Target> {
        let methods = &self.classes.get(class)?.methods;
        let place =
            methods.iter().position(|method| method.key_in_file() == (&*call.name, &*call.descriptor));
        Some((class, place?))
    }

    /// Returns the method in `class` or the nearest super class.
    fn resolve(&self, class: usize, call: &Call) -> Option<Target> {
        let mut here = class;
        for _ in 0..MAX_DEPTH {
            if let Some(found) = self.declared(here, call) {
                return Some(found);
            }
            here = self.find(self.classes.get(here)?.super_class()?)?;
        }
        None
    }

    fn virtual_targets(&self, named: usize, call: &Call) -> Option<Vec<Target>> {
        if self.classes.get(named)?.access & access::INTERFACE != 0 {
            return None;
        }
        let resolved = self.resolve(named, call)?;
        let method = self.method(resolved)?;
        let is_final = method.access & (access::PRIVATE | access::FINAL) != 0;
        if is_final || self.classes.get(named)?.access & access::FINAL != 0 {
            return Some(vec![resolved]);
        }
        if !self.is_whole {
            return None;
        }
        let mut targets = Vec::new();
        let mut pending = vec![(named, resolved)];
        while let Some((class, inherited)) = pending.pop() {
            let facts = self.classes.get(class)?;
            let is_open = facts.access & (access::PUBLIC | access::FINAL) == access::PUBLIC;
            let selected =
                if class == named { inherited } else { self.declared(class, call).unwrap_or(inherited) };
            let flags = self.method(selected)?.access;
            let is_seen = flags & (access::PUBLIC | access::PROTECTED) != 0 && flags & access::FINAL == 0;
            if is_open && is_seen {
                return None;
            }
            if flags & access::ABSTRACT == 0 && !targets.contains(&selected) {
                targets.push(selected);
            }
            pending.extend(self.below.get(class)?.iter().map(|&below| (below, selected)));
            if targets.len() + pending.len() > MAX_TARGETS {
                return None;
            }
        }
        // No class of the program implements it, so the implementation is elsewhere.
        (!targets.is_empty()).then_some(targets)
    }
}
