//! Methods outside the program that are short and wait for nothing: a list as data.

use std::collections::HashSet;
use std::sync::OnceLock;

/// The list; its head says how a line is written and what may be in it.
const KNOWN_METHODS: &str = include_str!("known.txt");

/// Beginnings of names of classes that belong to the platform, and of arrays: they are not part of a
/// program.
const PLATFORM_PACKAGES: [&[u8]; 6] = [b"java/", b"javax/", b"android/", b"dalvik/", b"jdk/", b"["];

/// Whether `class` belongs to the platform, or is an array.
pub(super) fn is_platform(class: &[u8]) -> bool {
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

/// Whether a call of this method of the platform, or of a library that is listed, is short.
pub(super) fn lists(class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    // Nearly all calls of a program are its own.
    let may_be = [&b"java/"[..], b"android/", b"kotlin/"].iter().any(|package| class.starts_with(package));
    may_be && list().contains(&(class, name, descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_method_and_none_is_there_twice() {
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
