//! PEM (RFC 7468): base64 between `-----BEGIN LABEL-----` and `-----END LABEL-----`.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns `bytes` as base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let index = (word >> (18 - 6 * place) & 63) as usize;
            let digit = ALPHABET.get(index).copied().unwrap_or(b'=');
            out.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// Decodes base64 with padding; spaces and line breaks are skipped.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let padding = digits.iter().rev().take_while(|&&digit| digit == b'=').count();
    let digits = digits.get(..digits.len() - padding)?;
    if padding > 2 || (digits.len() + padding) % 4 != 0 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut word = 0_u32;
        for &digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            word = word << 6 | u32::from(value);
        }
        word <<= 6 * (4 - group.len());
        out.extend(word.to_be_bytes().get(1..group.len())?);
    }
    Some(out)
}

/// Returns the PEM text of `der`.
pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let mut out = format!("-----BEGIN {label}-----\n");
    let text = base64(der);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(64).unwrap_or((rest, ""));
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
    use proptest::prelude::*;

    use super::{base64, decode, encode, sections};

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
            assert_eq!(base64(plain.as_bytes()), text);
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
            prop_assert!(text.lines().all(|line| line.len() <= 64));
            prop_assert_eq!(sections(&text), [("X", Some(bytes))]);
        }

        #[test]
        fn any_text_is_read(text in "(-----BEGIN |-----END |-----|[A-Za-z0-9+/=\n]|\\PC){0,40}") {
            sections(&text);
        }
    }
}
