//! Method descriptors: the stack at a call, and the locals at the start of a method.

use crate::error::Malformed;

const BROKEN: Malformed = Malformed { at: 0, what: "a broken method descriptor" };

/// The primitive types and `void` as in the source, with the character of each in a descriptor.
pub(crate) const PRIMITIVES: [(&str, char); 9] = [
    ("void", 'V'),
    ("boolean", 'Z'),
    ("byte", 'B'),
    ("char", 'C'),
    ("short", 'S'),
    ("int", 'I'),
    ("long", 'J'),
    ("float", 'F'),
    ("double", 'D'),
];

/// Returns `descriptor` with the names that `name` returns for its classes.
pub(crate) fn renamed<'n>(descriptor: &'n str, name: impl Fn(&'n str) -> &'n str) -> String {
    let mut out = String::with_capacity(descriptor.len() + 32);
    let mut rest = descriptor;
    while let Some((before, behind)) = rest.split_once('L') {
        let Some((class, behind)) = behind.split_once(';') else { break };
        out.extend([before, "L", name(class), ";"]);
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Returns the words of a value whose type starts with this character.
pub(crate) fn words_of(first: Option<&u8>) -> usize {
    match first {
        Some(b'J' | b'D') => 2,
        Some(b'V') | None => 0,
        Some(_) => 1,
    }
}

/// The argument types of a method and its result type, as written.
pub(crate) struct Types<'a> {
    rest: &'a [u8],
}

impl<'a> TryFrom<&'a [u8]> for Types<'a> {
    type Error = Malformed;

    /// Starts at the first argument of a method descriptor.
    fn try_from(descriptor: &'a [u8]) -> Result<Self, Malformed> {
        let rest = descriptor.strip_prefix(b"(").ok_or(BROKEN)?;
        Ok(Self { rest })
    }
}

impl<'a> Types<'a> {
    /// Returns the next argument's type, or `None` after the last.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let first = self.rest.iter().position(|&byte| byte != b'[').ok_or(BROKEN)?;
        let length = match self.rest.get(first) {
            Some(b')') if first == 0 => return Ok(None),
            Some(b'L') => {
                let name = self.rest.get(first..).unwrap_or_default();
                first + name.iter().position(|&byte| byte == b';').ok_or(BROKEN)? + 1
            }
            Some(b')') | None => return Err(BROKEN),
            Some(_) => first + 1,
        };
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(BROKEN)?;
        self.rest = rest;
        Ok(Some(taken))
    }

    /// Returns the result's type, after all arguments.
    pub(crate) fn result(&self) -> &'a [u8] {
        self.rest.strip_prefix(b")").unwrap_or_default()
    }
}

/// Returns the words of the arguments, and the type of the result.
pub(crate) fn call_words(descriptor: &[u8]) -> Result<(usize, &[u8]), Malformed> {
    let mut types = Types::try_from(descriptor)?;
    let mut words = 0;
    while let Some(argument) = types.next()? {
        words += words_of(argument.first());
    }
    Ok((words, types.result()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_measured_in_words() {
        assert_eq!(call_words(b"()V"), Ok((0, &b"V"[..])));
        assert_eq!(call_words(b"(IJLjava/lang/Object;[[D[LX;D)J"), Ok((1 + 2 + 1 + 1 + 1 + 2, &b"J"[..])));
        for broken in [&b""[..], b"I", b"(", b"(I", b"(L", b"([", b"([[", b"([)V"] {
            assert!(call_words(broken).is_err());
        }
    }

    #[test]
    fn arguments_are_taken_one_by_one() {
        let mut types = Types::try_from(&b"(I[[JLa/B;[LC;)[I"[..]).unwrap();
        for expected in [&b"I"[..], b"[[J", b"La/B;", b"[LC;"] {
            assert_eq!(types.next(), Ok(Some(expected)));
        }
        assert_eq!((types.next(), types.result()), (Ok(None), &b"[I"[..]));
    }
}
