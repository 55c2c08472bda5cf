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

/// Whether `c` can change how the text around it is displayed: a control character, or one that changes the direction of text
/// (Unicode's Bidi_Control), which can make a name look like another. Line feeds and tabs are not among them.
#[must_use]
pub fn is_display_control(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
}

/// The first `characters` of a text, with an ellipsis if there are more.
pub(crate) fn short(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
