//! The list of methods outside the program that are short and wait for nothing.

use std::collections::HashSet;
use std::sync::OnceLock;

/// The list; the comment at its top describes the format and the criteria.
const KNOWN_METHODS: &str = include_str!("known.txt");

/// Prefixes of class names that belong to the platform, and of arrays: they are never part of a program.
const PLATFORM_PACKAGES: [&[u8]; 6] = [b"java/", b"javax/", b"android/", b"dalvik/", b"jdk/", b"["];

/// Returns whether `class` belongs to the platform or is an array.
pub(crate) fn is_platform(class: &[u8]) -> bool {
    PLATFORM_PACKAGES.iter().any(|package| class.starts_with(package))
}

type Method = (&'static [u8], &'static [u8], &'static [u8]);

fn list() -> &'static HashSet<Method> {
    static METHODS: OnceLock<HashSet<Method>> = OnceLock::new();
    METHODS.get_or_init(|| lines().collect())
}

fn lines() -> impl Iterator<Item = Method> {
    let lines = KNOWN_METHODS.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.filter_map(|line| {
        let mut words = line.split_whitespace().map(str::as_bytes);
        Some((words.next()?, words.next()?, words.next()?))
    })
}

/// Returns whether the list contains this method of the platform or a library.
pub(crate) fn lists(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    // Nearly all calls go to the program's own classes.
    let may_be = [&b"java/"[..], b"android/", b"kotlin/"].iter().any(|package| class.starts_with(package));
    may_be && list().contains(&(class, name, descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_method_and_there_are_no_duplicates() {
        let text = KNOWN_METHODS.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let count = text.filter(|line| !line.is_empty()).count();
        assert_eq!((lines().count(), list().len()), (count, count));
        for (class, name, descriptor) in lines() {
            assert!(class.contains(&b'/') && !class.contains(&b'.'), "{class:?}");
            assert!(!name.contains(&b'('));
            assert!(descriptor.starts_with(b"(") && descriptor.contains(&b')'));
        }
    }
}
