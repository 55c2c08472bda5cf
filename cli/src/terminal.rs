//! Output to the terminal, without control characters.
//!
//! A name in a jar, in a recording or on a device may contain control characters that make a terminal change its title, hide output or
//! send input. None of them is printed.

//!
//! Nothing else in the program opens stdout or stderr; `cli/clippy.toml` enforces that.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use exporter::is_display_control as commands;

/// Replaces characters that a terminal may interpret by the replacement character.
pub(crate) fn plain(text: impl Display) -> String {
    let plain = |c| if commands(c) { char::REPLACEMENT_CHARACTER } else { c };
    text.to_string().chars().map(plain).collect()
}

/// [`plain`] in one line, for a name within a line.
pub(crate) fn one_line(text: impl Display) -> String {
    plain(text).replace('\n', "\u{fffd}")
}

/// An output that replaces control characters.
#[derive(Debug)]
pub(crate) struct Shown<W> {
    out: W,
    /// Whether the output is JSON, where control characters become escapes.
    json: bool,
    /// The first bytes of a character that is not complete yet.
    begun: Vec<u8>,
}

/// `out`, written as [`stdout_of`] would: for a file that may be shown on a terminal later.
pub(crate) fn shown_in<W>(out: W, json: bool) -> Shown<W> {
    Shown { out, json, begun: Vec::new() }
}

/// An error with its causes in one line. A cause that repeats its source's text is left out.
pub(crate) fn causes(error: &anyhow::Error) -> String {
    let texts = error.chain().map(ToString::to_string);
    let joined =
        texts.reduce(|text, cause| if text.contains(&cause) { text } else { format!("{text}: {cause}") });
    joined.unwrap_or_default()
}

/// Standard output, for text.
pub(crate) fn stdout() -> Shown<io::StdoutLock<'static>> {
    stdout_of(false)
}

/// Standard output, for JSON or for text.
pub(crate) fn stdout_of(json: bool) -> Shown<io::StdoutLock<'static>> {
    #[expect(clippy::disallowed_methods, reason = "it is the one place")]
    Shown { out: io::stdout().lock(), json, begun: Vec::new() }
}

/// Standard error.
pub(crate) fn stderr() -> Shown<io::StderrLock<'static>> {
    Shown { out: commanded(), json: false, begun: Vec::new() }
}

/// Standard error without a filter, for the program's own control sequences.
pub(crate) fn commanded() -> io::StderrLock<'static> {
    #[expect(clippy::disallowed_methods, reason = "it is the one place")]
    io::stderr().lock()
}

impl<W: IsTerminal> Shown<W> {
    /// Whether it is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.begun.is_empty() && bytes.iter().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t')) {
            return self.out.write(bytes);
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for c in chunk.valid().chars() {
                match c {
                    _ if !commands(c) => text.push(c),
                    // All of them are in the plane that one escape covers.
                    _ if self.json => text.push_str(&format!("\\u{:04x}", u32::from(c))),
                    _ => text.push(char::REPLACEMENT_CHARACTER),
                }
            }
            let odd = chunk.invalid();
            // The text is cut at its end, not at an invalid byte.
            if chunks.peek().is_none()
                && std::str::from_utf8(odd).is_err_and(|error| error.error_len().is_none())
            {
                self.begun = odd.to_vec();
            } else if !odd.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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

/// Files with the same problem, such as those that cannot be read, are named up to this many. A directory may have thousands; the
/// others are only counted.
pub(crate) const MAX_NAMED: usize = 10;

/// A warning, on a line of its own.
///
/// # Errors
/// If stderr cannot be written to.
pub(crate) fn warn(warning: impl Display) -> io::Result<()> {
    writeln!(stderr(), "warning: {warning}")
}

/// Prints warnings, a line each.
///
/// # Errors
/// If stderr cannot be written to.
pub(crate) fn warn_all(warnings: impl IntoIterator<Item = impl Display>) -> io::Result<()> {
    warnings.into_iter().try_for_each(warn)
}

/// Prints the one document of `--json` on stdout.
///
/// # Errors
/// If stdout cannot be written to.
pub(crate) fn print_json(document: &serde_json::Value) -> io::Result<()> {
    let mut stdout = stdout_of(true);
    writeln!(stdout, "{document:#}")?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_two_are_plural() {
        assert_eq!(["byte", "class"].map(|what| counted(1_u64, what)), ["1 byte", "1 class"]);
        assert_eq!(["byte", "class"].map(|what| counted(0_usize, what)), ["0 bytes", "0 classes"]);
    }

    #[test]
    fn a_terminal_gets_no_control_characters() {
        assert_eq!(
            plain("a\u{1b}]0;title\u{7}\u{9b}2J\r\n\tb"),
            "a\u{fffd}]0;title\u{fffd}\u{fffd}2J\u{fffd}\n\tb"
        );
        assert_eq!(one_line("a\n\u{202e}b"), "a\u{fffd}\u{fffd}b");
    }

    fn shown(json: bool, text: &[u8], piece: usize) -> String {
        let mut out = Shown { out: Vec::new(), json, begun: Vec::new() };
        text.chunks(piece).for_each(|piece| out.write_all(piece).unwrap());
        String::from_utf8(out.out).unwrap()
    }

    #[test]
    fn a_writer_replaces_control_characters_in_pieces_of_any_size() {
        let text = "plain ü 漢 😀\n\t\u{1b}[2J \u{9b}2J \u{7f} \u{202e}abc\u{2066} \u{61c}";
        for piece in 1..text.len() {
            assert_eq!(
                shown(false, text.as_bytes(), piece),
                "plain ü 漢 😀\n\t\u{fffd}[2J \u{fffd}2J \u{fffd} \u{fffd}abc\u{fffd} \u{fffd}"
            );
        }
        // A single byte is a control character too, to a terminal that is not set to UTF-8.
        assert_eq!(shown(false, b"a\x9b2J\xe2\x82b", 2), "a\u{fffd}2J\u{fffd}b");
    }

    #[test]
    fn json_is_the_same_document_without_control_characters() {
        let names = serde_json::json!({"a\u{1b}\u{7f}\u{9b}\n": ["\u{202e}b", "ü😀"]});
        let text = shown(true, names.to_string().as_bytes(), 3);
        assert!(!text.chars().any(commands) && text.contains("\\u202e"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), names);
    }
}
