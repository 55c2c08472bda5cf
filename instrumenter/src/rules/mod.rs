//! The format of the rules file, which selects the methods that are traced.
//!
//! ```text
//! # One rule per line: a verb, then conditions that must all hold.
//! exclude package com.acme.generated
//! exclude method toString()Ljava.lang.String;
//! include annotation com.acme.Trace
//! always  class com.acme.Startup size >= 40
//! ```
//!
//! | verb | meaning |
//! | --- | --- |
//! | `exclude` | not traced |
//! | `include` | traced if the default rule selects it, even if the block list covers its class |
//! | `always` | traced, even if the default rule does not select it |
//!
//! | condition | holds for |
//! | --- | --- |
//! | `package NAME` | classes in the package and below it; `package -` is the unnamed package only |
//! | `class PATTERN` | the class and its nested classes; `*` matches within a segment of the name, `**` across |
//! | `class-only PATTERN` | only the class itself |
//! | `annotation NAME` | methods with that annotation, and all methods of a class that has it |
//! | `method PATTERN` | methods by name, or by name and descriptor if the pattern contains a `(` |
//! | `size < N`, `<=`, `>`, `>=` | methods whose code has this many bytes before instrumentation |
//!
//! **The last matching line decides**, so put general rules first and exceptions after them. If no line matches, the
//! block list decides, and then the default rule. Two things override all rules: classes that are never changed, and
//! methods of the base map, which are traced.
//!
//! Names are written with dots or slashes, as in the source. If the input is obfuscated and a mapping is given, use
//! the original names.

mod parse;
pub(crate) mod pattern;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::error::Error;
use pattern::Pattern;

/// What a rule does with matching methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Exclude,
    Include,
    Always,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// An internal name without a trailing slash.
    Package(String),
    UnnamedPackage,
    Class(Pattern),
    /// The class itself, without its nested classes.
    ClassOnly(Pattern),
    Annotation(Pattern),
    /// Whether the descriptor is part of the pattern.
    Method(Pattern, bool),
    /// Sizes in bytes, both ends included.
    Size(u32, u32),
}

#[derive(Debug)]
struct Rule {
    line: usize,
    verb: Verb,
    conditions: Vec<Condition>,
}

/// The properties of a method that rules can match. Names are internal ones.
pub(crate) struct Subject<'a> {
    pub(crate) class: &'a str,
    pub(crate) class_annotations: &'a [String],
    pub(crate) name: &'a str,
    pub(crate) descriptor: &'a str,
    pub(crate) annotations: &'a [String],
    /// Bytes of code.
    pub(crate) size: u32,
}

/// The rules of a file.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    path: PathBuf,
    rules: Vec<Rule>,
}

impl Condition {
    fn holds(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Package(name) => {
                subject.class.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/'))
            }
            Self::UnnamedPackage => !subject.class.contains('/'),
            Self::Class(pattern) => pattern.matches_class(subject.class),
            Self::ClassOnly(pattern) => pattern.matches(subject.class),
            Self::Annotation(pattern) => {
                subject.class_annotations.iter().chain(subject.annotations).any(|name| pattern.matches(name))
            }
            Self::Method(pattern, false) => pattern.matches(subject.name),
            Self::Method(pattern, true) => pattern.matches(&[subject.name, subject.descriptor].concat()),
            Self::Size(least, most) => (*least..=*most).contains(&subject.size),
        }
    }
}

impl Rules {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::reading(path))?;
        Self::parse(path, &text)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether these rules need the annotations of methods.
    pub(crate) fn ask_for_annotations(&self) -> bool {
        let mut conditions = self.rules.iter().flat_map(|rule| &rule.conditions);
        conditions.any(|condition| matches!(condition, Condition::Annotation(_)))
    }

    /// Returns the verb and the line of the last matching rule.
    pub(crate) fn decide(&self, subject: &Subject<'_>) -> Option<(Verb, u32)> {
        let fits = |rule: &&Rule| rule.conditions.iter().all(|condition| condition.holds(subject));
        let rule = self.rules.iter().rev().find(fits)?;
        Some((rule.verb, u32::try_from(rule.line).unwrap_or(u32::MAX)))
    }

    /// Returns the verb for `class` by the rules about whole classes, for a method that is added and not in the
    /// source.
    pub(crate) fn class_verb(&self, class: &str, class_annotations: &[String]) -> Option<Verb> {
        let whole = |condition: &Condition| !matches!(condition, Condition::Method(..) | Condition::Size(..));
        let subject =
            Subject { class, class_annotations, name: "", descriptor: "", annotations: &[], size: 0 };
        let fits = |rule: &&Rule| {
            rule.conditions.iter().all(|condition| whole(condition) && condition.holds(&subject))
        };
        self.rules.iter().rev().find(fits).map(|rule| rule.verb)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the lines that matched no method, if `used` are the lines that did.
    pub(crate) fn unused(&self, used: &HashSet<u32>) -> impl Iterator<Item = (&Path, usize)> {
        let is_used = |rule: &Rule| u32::try_from(rule.line).is_ok_and(|line| used.contains(&line));
        let unused = self.rules.iter().filter(move |rule| !is_used(rule));
        unused.map(|rule| (self.path.as_path(), rule.line))
    }
}

#[cfg(test)]
mod tests;
