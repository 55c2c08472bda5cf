//! Undoes what copying does to a text: UTF-16, HTML, escapes, lost line ends. Each is recognised by the
//! beginning of the text and undone before the text is parsed.

pub(super) mod escaped;
pub(super) mod joined;
pub(super) mod markup;
pub(super) mod utf16;

use std::borrow::Cow;

/// The original text, if the beginning shows how it was changed.
pub(super) fn restored(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if markup::is_in(&text) {
        text = Cow::Owned(markup::plain(&text));
    }
    if escaped::is_in(&text) {
        text = Cow::Owned(escaped::plain(&text));
    }
    if joined::is_in(&text) {
        text = Cow::Owned(joined::split(&text));
    }
    text
}

/// Whether [`restored`] would change a text with this beginning.
pub(super) fn is_damaged(begin: &str) -> bool {
    markup::is_in(begin) || escaped::is_in(begin) || joined::is_in(begin)
}
