//! The object whose `write` is hooked.

use crate::elf::live::Loaded;
use std::fmt;

/// The loaded object whose calls of `write` are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The program itself.
    Program,
    /// The first loaded object whose path ends in `/` and this name, or is this name: `libjvm.so` on a host.
    File(String),
}

impl Target {
    /// The loaded object of this name, as [`Target::File`] finds it.
    pub fn file(name: impl Into<String>) -> Self {
        Target::File(name.into())
    }

    /// Where ART's Signal Catcher writes its dump on Android of this API level: in `libart.so` itself at first, through
    /// `libbase.so` on 29, and through libc's `dprintf` and the like on 24, 25 and from 30 on. Matrix's table (its
    /// `hookAnrTraceWrite`); nothing below 19.
    pub fn art(api_level: u32) -> Option<Self> {
        match api_level {
            ..19 => None,
            24 | 25 | 30.. => Some(Target::file("libc.so")),
            29 => Some(Target::file("libbase.so")),
            _ => Some(Target::file("libart.so")),
        }
    }

    pub(super) fn is(&self, object: &Loaded<'_>) -> bool {
        match self {
            Target::Program => object.is_program,
            Target::File(name) => object.file_name() == name.as_bytes(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Program => f.write_str("the program"),
            Target::File(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_its_library() {
        assert_eq!(Target::art(18), None);
        for (levels, name) in [
            (19..=23, "libart.so"),
            (24..=25, "libc.so"),
            (26..=28, "libart.so"),
            (29..=29, "libbase.so"),
            (30..=37, "libc.so"),
        ] {
            for level in levels {
                assert_eq!(Target::art(level), Some(Target::file(name)), "{level}");
            }
        }
    }
}
