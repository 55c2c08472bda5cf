//! Texts on their way to a terminal.
//!
//! A name in a jar, in a recording or on a device may hold the control characters by which a terminal is told what to do: change
//! its title, hide what was printed, answer with a text as if somebody had typed it. None of them gets there.

use std::fmt::Display;
use std::io::{self, Write};

/// `text` with the replacement character for control characters other than the ends of lines and tabs.
pub(crate) fn plain(text: impl Display) -> String {
    let plain =
        |c: char| if c.is_control() && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    text.to_string().chars().map(plain).collect()
}

/// `1 class`, `2 classes`.
pub(crate) fn counted<N: Copy + Display + PartialEq + From<u8>>(n: N, what: &str) -> String {
    let ending = match what {
        _ if n == N::from(1) => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{n} {what}{ending}")
}

/// A warning, on a line of its own.
///
/// # Errors
/// If stderr cannot be written to.
pub(crate) fn warn(warning: impl Display) -> io::Result<()> {
    writeln!(io::stderr(), "warning: {}", plain(warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_two_are_more() {
        assert_eq!(["byte", "class"].map(|what| counted(1_u64, what)), ["1 byte", "1 class"]);
        assert_eq!(["byte", "class"].map(|what| counted(0_usize, what)), ["0 bytes", "0 classes"]);
    }

    #[test]
    fn a_terminal_gets_texts_and_no_commands() {
        assert_eq!(
            plain("a\u{1b}]0;title\u{7}\u{9b}2J\r\n\tb"),
            "a\u{fffd}]0;title\u{fffd}\u{fffd}2J\u{fffd}\n\tb"
        );
    }
}
