//! The facts that a run knows about a class, from its scan or from the cache.

pub(crate) mod body;
pub(crate) mod focus;
pub(crate) mod matrix;
mod naming;

use std::collections::HashMap;

use self::body::Body;
use self::focus::FocusFacts;
use self::matrix::MatrixFacts;
use crate::error::SkipReason;
use crate::stamp::Sum;

/// The facts about a class that the maps depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassFacts {
    /// Internal name; with a mapping, the original one.
    pub(crate) name: String,
    /// Internal name in the file, if it differs.
    pub(crate) obfuscated: Option<String>,
    /// The superclass, if any, then the interfaces: internal names in the file.
    pub(crate) supertypes: Box<[Box<str>]>,
    /// Access flags of the class file.
    pub(crate) access: u16,
    pub(crate) source_file: Option<String>,
    /// In the order of the class file.
    pub(crate) methods: Vec<MethodFacts>,
    pub(crate) focus: FocusFacts,
    /// Facts that only Matrix's rules need.
    pub(crate) matrix: MatrixFacts,
    /// With waits and a cache, the classes whose super types decide what is inserted here: sorted internal names in
    /// the file.
    pub(crate) asked: Box<[Box<str>]>,
    /// A checksum of the decisions that depended on other classes in the previous run.
    pub(crate) decided: Sum,
    /// The class file, if the class is to be explained.
    pub(crate) kept: Option<Box<[u8]>>,
}

impl ClassFacts {
    /// Returns the internal name in the file.
    pub(crate) fn name_in_file(&self) -> &str {
        self.obfuscated.as_deref().unwrap_or(&self.name)
    }

    /// Returns the methods by their keys.
    pub(crate) fn by_key(&self) -> HashMap<(&str, &str), &MethodFacts> {
        self.methods.iter().map(|method| (method.key(), method)).collect()
    }

    /// Returns the internal name of the super class in the file; `None` for `java/lang/Object` and for modules.
    pub(crate) fn super_class(&self) -> Option<&str> {
        self.supertypes.first().map(|name| &**name)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MethodFacts {
    pub(crate) access: u16,
    /// With a mapping, name and descriptor are the original ones.
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
    pub(crate) first_line: Option<u16>,
    pub(crate) verdict: Verdict,
    /// Whether the default rule decided, so that the costs of called methods may turn [`Verdict::Trace`] into
    /// [`Verdict::Short`] or back.
    pub(crate) by_default: bool,
    /// Its code, if it is short and the default rule considers it.
    pub(crate) body: Option<Box<Body>>,
    /// The highest cost of a call, in instructions; `None` if unlimited.
    pub(crate) cost: Option<u16>,
    /// Name and descriptor in the class file, if they differ.
    pub(crate) in_file: Option<Box<(Box<str>, Box<str>)>>,
    /// Whether the mapping has several methods that it could be.
    pub(crate) ambiguous: bool,
    /// Line of the rule that decided, or 0.
    pub(crate) rule: u32,
    /// The id that the method keeps from a previous run, or 0.
    pub(crate) kept_id: u32,
}

impl MethodFacts {
    /// Returns name and descriptor.
    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.name, &self.descriptor)
    }

    /// Returns name and descriptor in the class file.
    pub(crate) fn key_in_file(&self) -> (&str, &str) {
        match &self.in_file {
            Some(in_file) => (&in_file.0, &in_file.1),
            None => self.key(),
        }
    }

    /// Returns whether the maps contain the same about this method as about `other`, except for name and id.
    pub(crate) fn is_same_in_maps(&self, other: &Self) -> bool {
        (self.access, self.first_line, &self.verdict) == (other.access, other.first_line, &other.verdict)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    Trace,
    /// The default rule skips it.
    Ignore,
    /// The default rule skips it as too short, called methods included.
    Short,
    /// Its class is blocked.
    Block,
    /// A rule excludes it.
    Exclude,
    /// Native or abstract.
    #[default]
    NoCode,
    /// Its code is broken.
    Skip(SkipReason),
}

/// A class as its subclasses see it, from the inputs or from the class path.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The superclass, if any, then the interfaces: internal names.
    pub(crate) supertypes: Box<[Box<str>]>,
    pub(crate) focus: FocusFacts,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a class with methods of these names.
    pub(crate) fn any_class(name: &str, methods: &[&str]) -> ClassFacts {
        let method = |name: &&str| MethodFacts {
            access: 1,
            name: (**name).into(),
            descriptor: "(La/B;)V".into(),
            first_line: Some(12),
            verdict: Verdict::Trace,
            ..MethodFacts::default()
        };
        ClassFacts {
            name: name.to_owned(),
            supertypes: Box::from(["java/lang/Object".into()]),
            source_file: Some("B.java".to_owned()),
            methods: methods.iter().map(method).collect(),
            ..ClassFacts::default()
        }
    }
}
