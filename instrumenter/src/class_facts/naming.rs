//! The names of a class and its methods: those in the file, and with a mapping the original ones.

use super::{ClassFacts, MethodFacts, Verdict};
use crate::class::text::fits_a_line;
use crate::error::SkipReason;
use crate::mapping::Mapping;

impl ClassFacts {
    /// Returns the facts of a class with this internal name and source file in its file, without any others.
    ///
    /// # Errors
    ///
    /// A name that does not fit into a line of a map.
    pub(crate) fn named(
        in_file: String,
        source_file: Option<String>,
        mapping: Option<&Mapping>,
    ) -> Result<Self, SkipReason> {
        let original = mapping.and_then(|mapping| mapping.class(&in_file)).filter(|name| **name != in_file);
        let mapped = mapping.and_then(|mapping| mapping.source_file(&in_file)).map(str::to_owned);
        let (name, obfuscated) = match original {
            Some(original) => (original.to_owned(), Some(in_file)),
            None => (in_file, None),
        };
        // The source file only adds to the map, so an invalid one is ignored.
        let source_file = mapped.or(source_file).filter(|file| fits_a_line(file));
        let facts = Self { name, obfuscated, source_file, ..Self::default() };
        match fits_a_line(&facts.name) && fits_a_line(facts.name_in_file()) {
            true => Ok(facts),
            false => Err(SkipReason::ControlCharacter),
        }
    }
}

impl MethodFacts {
    /// Returns the facts of a method with this name and descriptor in the file of `class`, without any others. The verdict is
    /// [`Verdict::NoCode`], or a skip if a name does not fit into a line of a map: also of an abstract method, because Matrix lists
    /// them. `line` is the first line of its code; it is needed only with a mapping.
    pub(crate) fn named(
        access: u16,
        (name, descriptor): (&str, &str),
        class: &ClassFacts,
        mapping: Option<&Mapping>,
        line: impl FnOnce() -> Option<u16>,
    ) -> Self {
        let mut found = Self { access, name: name.into(), descriptor: descriptor.into(), ..Self::default() };
        if let Some(mapping) = mapping {
            let original = mapping.method(class.name_in_file(), name, descriptor, line());
            found.name = original.name.into();
            found.descriptor = original.descriptor.into();
            found.first_line = original.line;
            found.ambiguous = original.ambiguous;
            if (&*found.name, &*found.descriptor) != (name, descriptor) {
                found.in_file = Some(Box::new((name.into(), descriptor.into())));
            }
        }
        if ![name, descriptor, &*found.name, &*found.descriptor].into_iter().all(fits_a_line) {
            found.verdict = Verdict::Skip(SkipReason::ControlCharacter);
        }
        found
    }
}
