//! Restores a text inside a JSON or source string: `\n`, `\t` and `\"` instead of the characters.

/// Number of escaped line ends in one line from which a text counts as escaped.
const MIN_ESCAPES: usize = 3;

/// Whether a line of the text has several escaped line ends followed by lines of a dump.
pub(in crate::dump) fn is_in(text: &str) -> bool {
    let behind = |line: &str| {
        line.split("\\n")
            .skip(1)
            .filter(|part| {
                let part = part.trim_start_matches([' ', '\t']).trim_start_matches("\\t").trim_start();
                ["at ", "- ", "| ", "native: ", "\\\"", "-----", "#"]
                    .iter()
                    .any(|begin| part.starts_with(begin))
            })
            .count()
    };
    text.lines().any(|line| line.contains("\\n") && behind(line) >= MIN_ESCAPES)
}

/// The text with its escapes decoded.
pub(in crate::dump) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => {}
            Some(c @ ('"' | '\'' | '\\' | '/')) => out.push(c),
            Some('u') => {
                let digits: String = chars.clone().take(4).collect();
                match u32::from_str_radix(&digits, 16)
                    .ok()
                    .and_then(char::from_u32)
                    .filter(|_| digits.len() == 4)
                {
                    Some(c) => {
                        out.push(c);
                        chars.nth(3);
                    }
                    None => out.push_str("\\u"),
                }
            }
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_become_characters() {
        let text = r#""\"main\" prio=5 tid=1 Native\n  at a.B.c(D.java:1)\n  - locked \u003c0x1\u003e (a \/ b)\n\tat x.y(Z)\q\\""#;
        assert!(is_in(text));
        let expected = "\"\"main\" prio=5 tid=1 Native\n  at a.B.c(D.java:1)\n  - locked <0x1> (a / b)\n\tat x.y(Z)\\q\\\"";
        assert_eq!(plain(text), expected);
        assert!(!is_in(r"C:\new\node at a.b(c)") && !is_in("at a.b(C)\nat a.b(C)"));
    }

    proptest! {
        #[test]
        fn json_comes_back(text in "[ -~\n\t]{0,80}") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(plain(&json[1..json.len() - 1]), text);
        }

        #[test]
        fn any_text_is_taken(text: String) {
            prop_assert!(plain(&text).len() <= text.len());
        }
    }
}
