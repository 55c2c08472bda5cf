//! Patterns of names with wildcards.

/// A pattern in which `*` matches any characters within a package segment, and `**` any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: Box<[u8]>,
    plain: bool,
    /// The character that `*` does not match; 0 for none.
    separator: u8,
}

impl Pattern {
    /// Creates a pattern for internal class names. Dots count as slashes.
    pub(crate) fn class(text: &str) -> Self {
        Self::new(text, b'/')
    }

    /// Creates a pattern for method names and descriptors, in which `*` matches everything.
    pub(crate) fn method(text: &str) -> Self {
        Self::new(text, 0)
    }

    fn new(text: &str, separator: u8) -> Self {
        let text = text.replace('.', "/").into_bytes().into_boxed_slice();
        Self { plain: !text.contains(&b'*'), text, separator }
    }

    /// Returns whether the whole `name` matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        if self.plain {
            return *self.text == *name.as_bytes();
        }
        self.fits(name.as_bytes())
    }

    /// Returns whether `name`, or a class that it is nested in, matches.
    pub(crate) fn matches_class(&self, name: &str) -> bool {
        if self.plain {
            let rest = name.as_bytes().strip_prefix(&*self.text);
            return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"$"));
        }
        self.matches(name)
            || name.match_indices('$').any(|(at, _)| self.fits(name.as_bytes().get(..at).unwrap_or_default()))
    }

    /// Walks the pattern once with the set of all possible positions, so that the time is at most the product of both
    /// lengths.
    fn fits(&self, name: &[u8]) -> bool {
        let mut here = vec![false; name.len() + 1];
        if let Some(first) = here.first_mut() {
            *first = true;
        }
        let mut pattern = self.text.iter().copied().peekable();
        while let Some(byte) = pattern.next() {
            if byte == b'*' {
                let all = pattern.next_if_eq(&b'*').is_some() || self.separator == 0;
                let mut open = false;
                for (at, slot) in here.iter_mut().enumerate() {
                    let passed = at.checked_sub(1).and_then(|at| name.get(at));
                    open = *slot || open && (all || passed != Some(&self.separator));
                    *slot = open;
                }
            } else {
                let mut before = false;
                for (at, slot) in here.iter_mut().enumerate() {
                    let fits = at.checked_sub(1).and_then(|at| name.get(at)) == Some(&byte);
                    let next = before && fits;
                    before = core::mem::replace(slot, next);
                }
            }
        }
        here.last() == Some(&true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_single_star_stays_in_a_segment_and_a_double_star_does_not() {
        for (pattern, name, fits) in [
            ("com.acme.*", "com/acme/A", true),
            ("com.acme.*", "com/acme/x/A", false),
            ("com.acme.**", "com/acme/x/A", true),
            ("**.*Impl", "a/b/FooImpl", true),
            ("**.*Impl", "a/b/FooImpls", false),
            ("**Impl", "FooImpl", true),
            ("*", "", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
            ("a.B", "a/B", true),
            ("a.B", "a/Bc", false),
        ] {
            assert_eq!(Pattern::class(pattern).matches(name), fits, "{pattern} {name}");
        }
        assert!(Pattern::method("get*()*").matches("getX()Ljava/lang/String;"));
        assert!(Pattern::method("run(Ljava.lang.String;)V").matches("run(Ljava/lang/String;)V"));
    }

    #[test]
    fn a_class_pattern_matches_nested_classes() {
        for pattern in ["a.B", "a.*", "**.B"] {
            assert!(Pattern::class(pattern).matches_class("a/B$C$1"), "{pattern}");
        }
        assert!(!Pattern::class("a.B").matches_class("a/Bx$C"));
        assert!(!Pattern::class("**.B").matches_class("a/Bx$C"));
    }

    /// Answers the same question by trying every way, which is slow for long texts.
    fn slow(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', b'*', rest @ ..] => (0..=name.len()).any(|at| slow(rest, &name[at..])),
            [b'*', rest @ ..] => {
                let segment = name.iter().position(|&b| b == b'/').unwrap_or(name.len());
                (0..=segment).any(|at| slow(rest, &name[at..]))
            }
            [byte, rest @ ..] => name.first() == Some(byte) && slow(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn all_ways_are_found(pattern in "[ab/*]{0,8}", name in "[ab/]{0,8}") {
            let found = Pattern::class(&pattern).matches(&name);
            prop_assert_eq!(found, slow(pattern.as_bytes(), name.as_bytes()));
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let pattern = "**a".repeat(300);
        assert!(!Pattern::class(&pattern).matches(&"a".repeat(299)));
        assert!(Pattern::class(&pattern).matches(&"a".repeat(5_000)));
    }
}
