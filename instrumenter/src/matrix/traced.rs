//! The methods with ids, as Matrix keeps them.

use std::collections::HashMap;

use trace_format::ids;

use super::names::Names;
use crate::class::class_file::access;
use crate::class_facts::MethodFacts;

/// A method as Matrix keeps it: names with dots.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub(super) id: i64,
    pub(super) access: u32,
    pub(super) class: String,
    pub(super) name: String,
    pub(super) descriptor: Option<String>,
}

impl Traced {
    pub(super) fn new(class: &str, method: &MethodFacts) -> Self {
        Self {
            id: 0,
            access: u32::from(method.access),
            class: class.to_owned(),
            name: method.name.to_string(),
            descriptor: Some(method.descriptor.replace('/', ".")),
        }
    }

    fn shown_descriptor(&self) -> Option<&str> {
        let native = self.access & u32::from(access::NATIVE) != 0;
        self.descriptor.as_deref().filter(|_| !native)
    }

    fn joined(&self, separator: &str) -> String {
        let mut joined = [&self.class, separator, &self.name].concat();
        if let Some(descriptor) = self.shown_descriptor() {
            joined.extend([separator, descriptor]);
        }
        joined
    }

    pub(super) fn key(&self) -> String {
        self.joined(".")
    }

    /// Returns `class method desc` with original names.
    pub(super) fn line(&self, names: Option<&Names>) -> String {
        let mut shown = self.clone();
        if let Some(names) = names {
            let descriptor = self.descriptor.as_deref().unwrap_or_default();
            let (name, descriptor) = names.original_method(&self.class, &self.name, descriptor);
            shown.name = name;
            shown.descriptor = self.descriptor.is_some().then_some(descriptor);
            shown.class = names.original_class(&self.class).to_owned();
        }
        shown.joined(" ")
    }
}

/// Parses the base map, up to the first line that Matrix cannot read.
pub(super) fn base_methods(text: &str) -> Vec<Traced> {
    let mut methods = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let read = || {
            let mut fields = line.split(',');
            let id: i32 = fields.next()?.parse().ok()?;
            let access: i32 = fields.next()?.parse().ok()?;
            let mut parts = fields.next()?.split(' ');
            Some(Traced {
                id: i64::from(id),
                access: access as u32,
                class: parts.next()?.replace('/', "."),
                name: parts.next()?.to_owned(),
                descriptor: parts.next().map(|descriptor| descriptor.replace('/', ".")),
            })
        };
        match read() {
            Some(method) => methods.push(method),
            None => break,
        }
    }
    methods
}

/// The methods with ids, by key, in the order of insertion.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) by_key: HashMap<String, usize>,
    pub(super) methods: Vec<Traced>,
    /// The number of them that are from the base map.
    pub(super) base: usize,
    pub(super) last: i64,
}

impl Collected {
    pub(super) fn base(text: &str, names: Option<&Names>) -> Self {
        let mut collected = Self::default();
        for mut method in base_methods(text) {
            if method.id != i64::from(ids::DISPATCH) {
                collected.last = collected.last.max(method.id);
            }
            if let Some(names) = names {
                let descriptor = method.descriptor.as_deref().unwrap_or_default();
                let (name, descriptor) = names.obfuscated_method(&method.class, &method.name, descriptor);
                method.name = name;
                method.descriptor = method.descriptor.is_some().then_some(descriptor);
                method.class = names.obfuscated_class(&method.class).to_owned();
            }
            collected.put(method);
        }
        collected.base = collected.methods.len();
        collected
    }

    /// Inserts `method`, or replaces the one with the same key.
    pub(super) fn put(&mut self, method: Traced) {
        let place = *self.by_key.entry(method.key()).or_insert(self.methods.len());
        match self.methods.get_mut(place) {
            Some(slot) => *slot = method,
            None => self.methods.push(method),
        }
    }

    pub(super) fn id(&self, key: &str) -> Option<i64> {
        self.by_key.get(key).and_then(|&place| self.methods.get(place)).map(|method| method.id)
    }
}
