//! Cleans texts of a recording for display.

use std::borrow::Cow;

/// Maximum length of a name or argument in bytes: longer texts slow the UI down without adding information.
pub(crate) const MAX_TEXT: usize = 1024;

/// `text` without control characters (a NUL would end a name in the engine), truncated to [`MAX_TEXT`].
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
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

/// The first `characters` of a text, with an ellipsis if there are more.
pub(crate) fn short(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
