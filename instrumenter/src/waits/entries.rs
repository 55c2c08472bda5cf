//! The entries of a list of calls, by method, and the form that the lines of all lists have.

use std::collections::BTreeMap;
use std::str::SplitWhitespace;

use crate::hierarchy::Hierarchy;

/// An entry of a list, about the calls of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<T> {
    /// Internal name; `None` matches any class.
    pub(super) class: Option<Box<str>>,
    /// `None` matches any descriptor.
    pub(super) descriptor: Option<Box<[u8]>>,
    pub(super) what: T,
}

impl<T> Entry<T> {
    pub(super) fn fits(&self, descriptor: &[u8]) -> bool {
        self.descriptor.as_deref().is_none_or(|wanted| wanted == descriptor)
    }
}

/// Entries by method name, in sorted order, so that the cache key of equal lists is equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entries<T> {
    pub(super) by_name: BTreeMap<Box<[u8]>, Vec<Entry<T>>>,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new() }
    }
}

impl<T> Entries<T> {
    /// Returns the entries of methods with this name.
    pub(super) fn of_name(&self, name: &[u8]) -> &[Entry<T>] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns whether the super types of its class decide if a call of this method is listed.
    pub(crate) fn asks_for_class(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.of_name(name).iter().any(|entry| entry.class.is_some() && entry.fits(descriptor))
    }

    /// Returns the entries for a call of this method.
    pub(super) fn find(
        &self,
        class: &str,
        name: &[u8],
        descriptor: &[u8],
        hierarchy: &Hierarchy,
    ) -> impl Iterator<Item = &Entry<T>> {
        let is_of = |wanted: &str| hierarchy.is(class, wanted);
        let fits =
            move |entry: &&Entry<T>| entry.fits(descriptor) && entry.class.as_deref().is_none_or(is_of);
        self.of_name(name).iter().filter(fits)
    }
}

/// A line `KIND CLASS METHOD [DESCRIPTOR] [OPTIONS]`.
pub(super) struct Line<'l> {
    pub(super) kind: &'l str,
    /// Internal name, or `*` for any class.
    pub(super) class: String,
    pub(super) method: &'l [u8],
    rest: SplitWhitespace<'l>,
}

impl<'l> Line<'l> {
    pub(super) fn read(line: &'l str) -> Result<Self, &'static str> {
        let mut rest = line.split_whitespace();
        let (Some(kind), Some(class), Some(method)) = (rest.next(), rest.next(), rest.next()) else {
            return Err("a line needs a kind, a class and a method");
        };
        let class = class.replace('.', "/");
        if class.contains([';', '[', '(']) {
            return Err("the second word is not a class");
        }
        Ok(Self { kind, class, method: method.as_bytes(), rest })
    }

    /// Makes an entry of the line. `set` changes `what` by a word that is not a descriptor.
    pub(super) fn entry<T>(
        self,
        what: T,
        set: impl Fn(&mut T, &str) -> Result<(), &'static str>,
    ) -> Result<Entry<T>, &'static str> {
        let class = (self.class != "*").then(|| self.class.into_boxed_str());
        let mut entry = Entry { class, descriptor: None, what };
        for word in self.rest {
            match word.starts_with('(') && word.contains(')') {
                true => entry.descriptor = Some(word.as_bytes().into()),
                false => set(&mut entry.what, word)?,
            }
        }
        if entry.class.is_none() && entry.descriptor.is_none() {
            return Err("a method of any class needs a descriptor");
        }
        Ok(entry)
    }
}
