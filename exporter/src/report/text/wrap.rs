//! Wraps rows of a label and text to the page's width.

use std::fmt::{self, Formatter};

use super::WIDTH;

/// A label and its lines.
pub(super) type Row = (&'static str, Vec<String>);

/// Number of columns before the text of a row.
const INDENT: usize = 16;

/// Writes a row with its lines aligned.
pub(super) fn labelled(label: &str, lines: &[String], f: &mut Formatter<'_>) -> fmt::Result {
    let mut label = label;
    for line in lines.iter().flat_map(|line| wrapped(line, WIDTH - INDENT)) {
        writeln!(f, "  {label:<width$}{line}", width = INDENT - 2)?;
        label = "";
    }
    Ok(())
}

/// `text` in lines of at most `width` characters, broken at spaces; a longer word gets a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if used + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + length;
            }
            _ => {
                lines.push(word.to_owned());
                used = length;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::wrapped;

    #[test]
    fn lines_break_at_spaces_and_a_long_word_stays_whole() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a very-long-word b", 5), ["a", "very-long-word", "b"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in "\\PC{0,200}", width in 1_usize..90) {
            prop_assert_eq!(wrapped(&text, width).join(" "), text);
        }
    }
}
