//! Which of the texts that an app makes up while it runs are recorded.
//!
//! Names of classes, methods and threads are the program's, and a recording is of no use without them. What an app says at run time
//! (marks, counters, names of scenes, what a callback says of itself) may name a person. With the option `redact` such a text is a
//! number: equal texts of one process have the same one, and nobody can try out which text it was, because the key is the
//! process's own and is kept nowhere.

use crate::recorder;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use trace_format::TextId;

use super::options::{self, Number};

static KEY: OnceLock<RandomState> = OnceLock::new();

/// The text, or what stands for it.
pub(crate) fn own(text: String) -> String {
    if options::is_on(Number::Redact) { number(&text) } else { text }
}

/// The id of the text in the recording, or of what stands for it.
pub(crate) fn text(text: &str) -> TextId {
    if options::is_on(Number::Redact) { recorder::text(&number(text)) } else { recorder::text(text) }
}

fn number(text: &str) -> String {
    let hash = KEY.get_or_init(RandomState::new).hash_one(text) as u32;
    let digit = |place: u32| char::from_digit(hash >> (28 - 4 * place) & 15, 16).unwrap_or('0');
    std::iter::once('#').chain((0..8).map(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_another_text_another() {
        let one = number("alice@example.com");
        assert_eq!(one, number("alice@example.com"));
        assert_ne!(one, number("bob@example.com"));
        assert!(one.len() == 9 && one.starts_with('#') && !one.contains("alice"), "{one}");
    }
}
