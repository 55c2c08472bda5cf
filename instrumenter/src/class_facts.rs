//! What a run knows of a class once it was looked at, in this run or in an earlier one.

use crate::error::SkipReason;
use crate::focus::FocusFacts;
use crate::matrix::facts::MatrixFacts;
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
    /// Whether the mapping knows several methods that it could be.
    pub(crate) ambiguous: bool,
    /// Line of the rule that decided, or 0.
    pub(crate) rule: u32,
    /// The id of an earlier run that the method keeps, or 0.
    pub(crate) kept_id: u32,
}

impl MethodFacts {
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
