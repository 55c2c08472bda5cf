//! Texts of a recording for display.

use std::borrow::Cow;

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
