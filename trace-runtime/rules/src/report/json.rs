//! Writes a JSON object into a string.

use crate::text::fixed;

/// An object that grows key by key. Keys are constants and are not escaped.
#[derive(Debug)]
pub(super) struct JsonObject {
    out: String,
}

impl JsonObject {
    /// An object without keys.
    #[must_use]
    pub(super) fn new() -> Self {
        JsonObject { out: String::from("{") }
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        self.out.extend(["\"", key, "\":"]);
    }

    /// Adds a member whose value is written as a JSON string.
    pub(super) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key);
        push_text(&mut self.out, value);
        self
    }

    /// A number, or true or false.
    pub(super) fn plain(&mut self, key: &str, value: impl ToString) -> &mut Self {
        self.key(key);
        self.out.push_str(&value.to_string());
        self
    }

    /// A number with a fraction: `value` / 10^`decimals`, always with at least one decimal so that readers keep its type.
    pub(super) fn fraction(&mut self, key: &str, value: i64, decimals: u32) -> &mut Self {
        self.key(key);
        let text = fixed(value, decimals);
        let text = text.trim_end_matches('0');
        self.out.extend([text, if text.ends_with('.') { "0" } else { "" }]);
        self
    }

    /// An object inside.
    pub(super) fn object(&mut self, key: &str, value: JsonObject) -> &mut Self {
        self.key(key);
        self.out.push_str(&value.end());
        self
    }

    /// The whole object.
    #[must_use]
    pub(super) fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_json_reader_returns_what_was_written(text: String, int: i64, uint: u64, flag: bool) {
            let mut inner = JsonObject::new();
            inner.text("t", &text);
            let mut object = JsonObject::new();
            object.text("t", &text).plain("i", int).plain("u", uint).plain("f", flag).object("o", inner);
            let read: serde_json::Value = serde_json::from_str(&object.end()).unwrap();
            let expected = serde_json::json!({ "t": text, "i": int, "u": uint, "f": flag, "o": { "t": text } });
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn a_fraction_is_the_number(value in -1_000_000_000i64..1_000_000_000, decimals in 1..7u32) {
            let mut object = JsonObject::new();
            object.fraction("x", value, decimals);
            let text = object.end();
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert!(read["x"].is_f64(), "{}", text);
            let exact = value as f64 / 10f64.powi(decimals as i32);
            prop_assert!((read["x"].as_f64().unwrap() - exact).abs() < 1e-9, "{} is not {}", text, exact);
        }
    }
}
