//! The methods that are tasks' code.

use std::collections::{HashMap, HashSet};

/// The method that runs a coroutine (Kotlin's `BaseContinuationImpl`).
const COROUTINE: &str = "invokeSuspend";

/// The methods that are tasks' code, by class: known from the method map, before any of them has run.
#[derive(Debug, Default)]
pub(crate) struct TaskCodes {
    by_class: HashMap<String, u32>,
    /// Of each further method of a class that is its task's code, the one that stands for it: a bridge, and what it calls.
    same: HashMap<u32, u32>,
    /// Methods whose starts are not recorded as such.
    pub(super) unreported: HashSet<u32>,
    /// The code of coroutines, by class, and alone.
    coroutines: HashMap<String, u32>,
    of_coroutines: HashSet<u32>,
}

impl TaskCodes {
    /// Adds a method of the map.
    pub(crate) fn add(&mut self, id: u32, class: &str, method: &str) {
        if method == COROUTINE {
            self.coroutines.insert(class.to_owned(), id);
            self.of_coroutines.insert(id);
            return;
        }
        let reported = matches!(method, "run" | "call" | "compute");
        if !reported && !matches!(method, "get" | "apply" | "accept" | "invoke") {
            return;
        }
        if let Some(first) = self.by_class.get(class) {
            self.same.insert(id, *first);
        } else {
            self.by_class.insert(class.to_owned(), id);
        }
        if !reported {
            self.unreported.insert(id);
        }
    }

    /// The method that is the code of a task of this class, 0 if unknown.
    pub(super) fn of_class(&self, class: &str) -> u32 {
        let known = self.coroutines.get(class).or_else(|| self.by_class.get(class));
        known.copied().unwrap_or(0)
    }

    pub(super) fn canonical(&self, method: u32) -> u32 {
        self.same.get(&method).copied().unwrap_or(method)
    }

    pub(super) fn is_coroutine(&self, method: u32) -> bool {
        self.of_coroutines.contains(&method)
    }
}
