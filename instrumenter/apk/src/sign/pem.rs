//! PEM (RFC 7468): base64 between `-----BEGIN LABEL-----` and `-----END LABEL-----`.

use base64ct::{Base64, Encoding as _};

/// The most characters of base64 on a line.
const LINE: usize = 64;

/// Decodes base64 with padding; spaces and line breaks are skipped.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.split_ascii_whitespace().collect();
    Base64::decode_vec(&digits).ok()
}

/// Returns the PEM text of `der`.
pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    let digits = Base64::encode_string(der);
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// Returns the sections of a PEM text with their labels; `None` in place of bytes that are not base64. Text around them
/// is skipped, as `openssl` writes some.
pub(crate) fn sections(text: &str) -> Vec<(&str, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = after.split_once("-----") else { break };
        let Some((body, after)) = body.split_once("-----END ") else { break };
        found.push((label, decode(body)));
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use base64ct::{Base64, Encoding as _};
    use proptest::prelude::*;

    use super::{LINE, decode, encode, sections};

    #[test]
    fn base64_has_the_vectors_of_rfc_4648() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(Base64::encode_string(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
        for text in ["Z", "Zg=", "Zg===", "Z!==", "====", "Zm9v="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn text_around_the_sections_is_skipped() {
        let text = format!("Bag Attributes\n{}\nx\n{}", encode("A B", b"one"), encode("C", b"two"));
        assert_eq!(sections(&text), [("A B", Some(b"one".to_vec())), ("C", Some(b"two".to_vec()))]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let text = encode("X", &bytes);
            prop_assert!(text.lines().all(|line| line.len() <= LINE));
            prop_assert_eq!(sections(&text), [("X", Some(bytes))]);
        }

        #[test]
        fn any_text_is_read(text in "(-----BEGIN |-----END |-----|[A-Za-z0-9+/=\n]|\\PC){0,40}") {
            sections(&text);
        }
    }
}
