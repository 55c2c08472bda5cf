//! Words of an `@argfile` and of `JDK_JAVA_OPTIONS`, split as the Java launcher splits them.
//!
//! The rules are exactly those of the launcher, since a word that is split differently here would trace a class path that the launcher
//! does not use.

/// Where in an argument file the next byte is.
#[derive(Clone, Copy)]
enum At {
    Between,
    Comment,
    Word,
    Quote(u8),
    Escape(u8),
    /// After a backslash at the end of a line, whose quoted text continues at the next word.
    Continued(u8),
}

/// Splits an argument file into words.
///
/// White space separates; `'` and `"` quote; inside quotes a backslash escapes, and at the end of a line it joins the next line,
/// without its leading white space; an unclosed quote ends with its line; `#` outside of quotes starts a comment up to the end of the
/// line. Two oddities are the launcher's: a comment sign drops the letters directly before it, while quoted text of the same word goes
/// to the next one, and an empty word at the very end is lost.
pub(crate) fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word = Vec::new();
    // Letters since the last quote, which a comment sign drops.
    let mut plain = Vec::new();
    let mut at = At::Between;
    for &byte in text {
        let space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c);
        let line_end = matches!(byte, b'\n' | b'\r');
        if matches!(at, At::Between | At::Continued(_)) && space {
            continue;
        }
        at = match at {
            At::Between => At::Word,
            At::Continued(quote) => At::Quote(quote),
            other => other,
        };
        at = match at {
            At::Comment if line_end => At::Between,
            At::Comment => At::Comment,
            At::Escape(quote) if line_end => At::Continued(quote),
            At::Escape(quote) => {
                word.push(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'f' => 0x0c,
                    other => other,
                });
                At::Quote(quote)
            }
            At::Quote(quote) if byte == quote => At::Word,
            At::Quote(quote) if byte == b'\\' => At::Escape(quote),
            At::Quote(quote) if !line_end => {
                word.push(byte);
                At::Quote(quote)
            }
            At::Word if matches!(byte, b'\'' | b'"') => {
                word.append(&mut plain);
                At::Quote(byte)
            }
            At::Word if byte == b'#' => {
                plain.clear();
                At::Comment
            }
            At::Word if !space => {
                plain.push(byte);
                At::Word
            }
            _ => {
                word.append(&mut plain);
                words.push(std::mem::take(&mut word));
                At::Between
            }
        };
    }
    word.append(&mut plain);
    if matches!(at, At::Word | At::Quote(_)) && !word.is_empty() {
        words.push(word);
    }
    words
}

/// Splits an environment variable of options: white space separates, quotes group, there are no escapes. `None` if a quote is not
/// closed; the launcher rejects that.
pub(crate) fn variable_words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = text.iter().copied().peekable();
    loop {
        while rest.next_if(|b| is_c_space(*b)).is_some() {}
        if rest.peek().is_none() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some(byte) = rest.next_if(|b| !is_c_space(*b)) {
            if byte != b'"' && byte != b'\'' {
                word.push(byte);
                continue;
            }
            loop {
                match rest.next()? {
                    end if end == byte => break,
                    other => word.push(other),
                }
            }
        }
        words.push(word);
    }
}

/// White space as in C's `isspace`, which includes the vertical tab.
fn is_c_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<String> {
        words(text.as_bytes()).into_iter().map(|w| String::from_utf8(w).unwrap()).collect()
    }

    #[test]
    fn words_are_split_as_by_the_launcher() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \n\t ", &[]),
            ("-cp a.jar Main", &["-cp", "a.jar", "Main"]),
            ("-cp\r\na.jar\r\nMain\r\n", &["-cp", "a.jar", "Main"]),
            ("-cp \"my libs/a.jar\" Main", &["-cp", "my libs/a.jar", "Main"]),
            ("'-Da=b c' x", &["-Da=b c", "x"]),
            ("-Da='b c'd x", &["-Da=b cd", "x"]),
            ("\"it's\" 'say \"x\"'", &["it's", "say \"x\""]),
            (r#""c:\\lib\\a.jar" c:\lib"#, &[r"c:\lib\a.jar", r"c:\lib"]),
            (r#""tab\there" "x\qy""#, &["tab\there", "xqy"]),
            ("# a comment\n-cp # more\na.jar", &["-cp", "a.jar"]),
            ("'#no comment' b", &["#no comment", "b"]),
            ("\"-cp lib/a.jar:\\\n    lib/b.jar\"", &["-cp lib/a.jar:lib/b.jar"]),
            ("\"open quote\n next", &["open quote", "next"]),
            ("\"open to the end", &["open to the end"]),
            ("'' a", &["", "a"]),
            ("a ''", &["a"]),
            ("abc#def\nx", &["x"]),
            ("a\"b\"c#d\nx", &["abx"]),
            ("q\"r\"s#x", &[]),
            ("a\u{c}b", &["a", "b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn variables_know_quotes_and_no_escapes() {
        let split = |text: &str| {
            variable_words(text.as_bytes())
                .map(|words| words.into_iter().map(|w| String::from_utf8(w).unwrap()).collect::<Vec<_>>())
        };
        assert_eq!(split("  "), Some(vec![]));
        assert_eq!(
            split("-cp 'my libs/*' -Da=\"b c\""),
            Some(vec!["-cp".into(), "my libs/*".into(), "-Da=b c".into()])
        );
        assert_eq!(split(r"-Da=b\ c"), Some(vec![r"-Da=b\".into(), "c".into()]));
        assert_eq!(split("-Da='open"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_without_a_panic(text: Vec<u8>) {
            let total: usize = words(&text).iter().map(Vec::len).sum();
            prop_assert!(total <= text.len());
            variable_words(&text);
        }

        #[test]
        fn quoted_words_come_back(list in proptest::collection::vec("[ -~\n\t]{0,12}", 0..6)) {
            let quote = |word: &String| {
                let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                format!("\"{escaped}\"")
            };
            let text: String = list.iter().map(|word| quote(word) + "\n").collect();
            prop_assert_eq!(split(&text), list);
        }
    }
}
