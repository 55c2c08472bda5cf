//! What a run knows of a class once it was looked at, in this run or in an earlier one.

pub(crate) mod body;
pub(crate) mod focus;
pub(crate) mod matrix;

use self::body::Body;
use self::focus::FocusFacts;
use self::matrix::MatrixFacts;
use crate::error::SkipReason;
use crate::stamp::Sum;

/// What the maps need to know of a class.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassFacts {
    /// Internal name; with a mapping, the one from before obfuscation.
    pub(crate) name: String,
    /// Internal name in the file, where it is another.
    pub(crate) obfuscated: Option<String>,
    /// The superclass, if there is one, then the interfaces: internal names in its file.
    pub(crate) supertypes: Box<[Box<str>]>,
    /// Access flags of the class file.
    pub(crate) access: u16,
    pub(crate) source_file: Option<String>,
    /// In the order of the class file.
    pub(crate) methods: Vec<MethodFacts>,
    pub(crate) focus: FocusFacts,
    /// What only Matrix's way asks for.
    pub(crate) matrix: MatrixFacts,
    /// With waits and a cache, the classes on whose supertypes it depends what is inserted here: internal
    /// names in the file, sorted.
    pub(crate) asked: Box<[Box<str>]>,
    /// What the last run decided for it because of other classes.
    pub(crate) decided: Sum,
    /// The class file, if it is to be explained.
    pub(crate) kept: Option<Box<[u8]>>,
}

impl ClassFacts {
    /// Internal name as in the file.
    pub(crate) fn name_in_file(&self) -> &str {
        self.obfuscated.as_deref().unwrap_or(&self.name)
    }

    /// Internal name in the file; none for `java/lang/Object` and for modules.
    pub(crate) fn super_class(&self) -> Option<&str> {
        self.supertypes.first().map(|name| &**name)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct MethodFacts {
    pub(crate) access: u16,
    /// With a mapping, name and descriptor are those from before obfuscation.
    pub(crate) name: Box<str>,
    pub(crate) descriptor: Box<str>,
    pub(crate) first_line: Option<u16>,
    pub(crate) verdict: Verdict,
    /// Whether the default rule decided, so that [`limits`](crate::cost::limits) may still make
    /// [`Verdict::Short`] of [`Verdict::Trace`] and the other way round.
    pub(crate) by_default: bool,
    /// What its code does, if that is little and the default rule asks for it.
    pub(crate) body: Option<Box<Body>>,
    /// The most that a call of it can cost, in instructions; none if that is not limited.
    pub(crate) cost: Option<u16>,
    /// Name and descriptor in the class file, where the mapping has others.
    pub(crate) in_file: Option<Box<(Box<str>, Box<str>)>>,
    /// Whether the mapping knows several methods that it could be.
    pub(crate) ambiguous: bool,
    /// Line of the rule that decided, or 0.
    pub(crate) rule: u32,
    /// The id of an earlier run that the method keeps, or 0.
    pub(crate) kept_id: u32,
}

impl MethodFacts {
    /// Name and descriptor in the class file.
    pub(crate) fn key_in_file(&self) -> (&str, &str) {
        match &self.in_file {
            Some(in_file) => (&in_file.0, &in_file.1),
            None => (&self.name, &self.descriptor),
        }
    }

    /// Whether the maps have the same to say of the method as of `other`, its name and id apart.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        (self.access, self.first_line, &self.verdict) == (other.access, other.first_line, &other.verdict)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Trace,
    /// The default rule says that it is not worth it.
    Ignore,
    /// The default rule says that it is too short, with all that it calls.
    Short,
    /// Its class is blocked.
    Block,
    /// A rule excludes it.
    Exclude,
    /// Native or abstract.
    NoCode,
    /// Its code is broken.
    Skip(SkipReason),
}

/// A class as those below it see it, whether it is an input or lies on the class path.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The superclass, if there is one, then the interfaces: internal names.
    pub(crate) supertypes: Box<[Box<str>]>,
    pub(crate) focus: FocusFacts,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A class with methods of these names.
    pub(crate) fn any_class(name: &str, methods: &[&str]) -> ClassFacts {
        let method = |name: &&str| MethodFacts {
            access: 1,
            name: (**name).into(),
            descriptor: "(La/B;)V".into(),
            first_line: Some(12),
            verdict: Verdict::Trace,
            by_default: false,
            body: None,
            cost: None,
            in_file: None,
            ambiguous: false,
            rule: 0,
            kept_id: 0,
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
