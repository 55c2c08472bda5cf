//! Cleans texts of recordings and dumps for display.

use std::borrow::Cow;

/// Maximum length of a name or argument in bytes: longer texts slow the UI down without adding information.
const MAX_TEXT: usize = 1024;

/// Returns `text` without control characters (a NUL would end a name in the engine), truncated to 1,024 bytes.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT && !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().min(MAX_TEXT + 4));
    for c in text.chars() {
        if out.len() + c.len_utf8() > MAX_TEXT {
            out.push('…');
            break;
        }
        out.push(if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_control_characters_and_excess() {
        assert_eq!(clean("plain ü"), "plain ü");
        assert_eq!(clean("a\0b\nc"), "a\u{fffd}b\u{fffd}c");
        let long = clean(&"ü".repeat(2000)).into_owned();
        assert!(long.len() <= MAX_TEXT + 3 && long.ends_with('…'), "{}", long.len());
    }
}
