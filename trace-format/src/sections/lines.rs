//! `key=value` lines.

use std::borrow::Cow;
use std::str::FromStr;

use super::MAX_TIME;
use crate::section::key_values;

/// Reads `key=value` lines by key. The first line of a key counts; a value is trimmed and not empty.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a>(&'a str);

impl<'a> Keys<'a> {
    /// The keys of these lines.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// The value of a key.
    #[must_use]
    pub fn text(self, key: &str) -> Option<&'a str> {
        key_values(self.0).find(|(k, _)| *k == key).map(|(_, value)| value.trim()).filter(|v| !v.is_empty())
    }

    /// The value of a key, owned.
    #[must_use]
    pub fn owned(self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// The value of a key, if it is a number of this type.
    #[must_use]
    pub fn number<T: FromStr>(self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    /// The value of a key, if it is a valid time: CLOCK_BOOTTIME ns in `1..MAX_TIME`.
    #[must_use]
    pub fn time(self, key: &str) -> Option<u64> {
        self.number(key).filter(|time| (1..MAX_TIME).contains(time))
    }

    /// The value of a key that is yes or no.
    #[must_use]
    pub fn flag(self, key: &str) -> Option<bool> {
        match self.text(key)? {
            "1" | "yes" | "true" => Some(true),
            "0" | "no" | "false" => Some(false),
            _ => None,
        }
    }
}

/// Writes `key=value` lines. Line ends within a value become blanks: no value can forge a key.
///
/// Concatenates strings, since `format!` takes kilobytes of code on a device.
#[derive(Debug, Default)]
pub(super) struct Lines(String);

impl Lines {
    pub(super) fn text(&mut self, key: &str, value: &str) {
        let value = match value.contains(['\n', '\r']) {
            true => Cow::Owned(value.replace(['\n', '\r'], " ")),
            false => Cow::Borrowed(value),
        };
        for part in [key, "=", &value, "\n"] {
            self.0.push_str(part);
        }
    }

    pub(super) fn number<T: ToString>(&mut self, key: &str, value: T) {
        self.text(key, &value.to_string());
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        self.text(key, if value { "1" } else { "0" });
    }

    /// A line where there is a value.
    pub(super) fn texts(&mut self, key: &str, value: Option<&str>) {
        value.into_iter().for_each(|value| self.text(key, value));
    }

    /// A line where there is a value.
    pub(super) fn numbers<T: ToString>(&mut self, key: &str, value: Option<T>) {
        value.into_iter().for_each(|value| self.number(key, value));
    }

    /// A line where there is a value.
    pub(super) fn flags(&mut self, key: &str, value: Option<bool>) {
        value.into_iter().for_each(|value| self.flag(key, value));
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// A text up to its first blank line, and the rest.
pub(super) fn split_blank(text: &str) -> (&str, &str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        if line.trim_end_matches(['\n', '\r']).is_empty() {
            return (&text[..at], &text[next..]);
        }
        at = next;
    }
    (text, "")
}

/// The lines of a text that are not blank, trimmed, each with its newline.
pub(super) fn plain_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Hundredths as a decimal number with two places.
pub(super) fn decimal(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_key_counts_and_line_ends_are_of_both_kinds() {
        let keys = Keys::new("a= 1 \r\na=2\nnothing\nb=\nc=x\n");
        assert_eq!((keys.number::<u8>("a"), keys.text("b"), keys.number::<u8>("c")), (Some(1), None, None));
        assert_eq!((keys.flag("a"), keys.time("a"), keys.time("c")), (Some(true), Some(1), None));
    }

    #[test]
    fn a_text_is_parted_at_its_first_blank_line() {
        assert_eq!(split_blank("a\nb\n\nc\n\nd"), ("a\nb\n", "c\n\nd"));
        assert_eq!(split_blank("a\r\n\r\nc"), ("a\r\n", "c"));
        assert_eq!((split_blank("\nc"), split_blank("a"), split_blank("")), (("", "c"), ("a", ""), ("", "")));
    }

    #[test]
    fn decimals_have_two_places() {
        assert_eq!([0, 7, 42, 1_234].map(decimal), ["0.00", "0.07", "0.42", "12.34"]);
    }

    #[test]
    fn no_value_can_forge_a_line() {
        let mut lines = Lines::default();
        lines.text("a", "1\nb=2\r\nc=3");
        assert_eq!(lines.into_text(), "a=1 b=2  c=3\n");
    }
}
