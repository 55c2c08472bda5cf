//! Modified UTF-8: the encoding of strings in dex files.
//!
//! Each UTF-16 code unit is encoded by itself, in one to three bytes, so that a character beyond U+FFFF takes two times three. U+0000 is
//! `C0 80`.

use std::borrow::Cow;
use std::cmp::Ordering;

/// Counts the UTF-16 code units of a string; `None` if it is not valid MUTF-8 as ART checks it: a zero byte, a sequence that is longer
/// than necessary, one of four bytes, or one that is cut off.
///
/// Single surrogates are valid.
pub fn utf16_length(bytes: &[u8]) -> Option<usize> {
    if bytes.is_ascii() && !bytes.contains(&0) {
        return Some(bytes.len());
    }
    let mut units = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        (_, rest) = unit(rest)?;
        units += 1;
    }
    Some(units)
}

/// The first code unit, and what follows it.
fn unit(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let continued = |byte: u8| (byte & 0xc0 == 0x80).then_some(u16::from(byte & 0x3f));
    match *bytes {
        [first @ 1..=0x7f, ref rest @ ..] => Some((u16::from(first), rest)),
        [first @ 0xc0..=0xdf, second, ref rest @ ..] => {
            let value = u16::from(first & 0x1f) << 6 | continued(second)?;
            (value == 0 || value >= 0x80).then_some((value, rest))
        }
        [first @ 0xe0..=0xef, second, third, ref rest @ ..] => {
            let value = u16::from(first & 0xf) << 12 | continued(second)? << 6 | continued(third)?;
            (value >= 0x800).then_some((value, rest))
        }
        _ => None,
    }
}

/// Compares by UTF-16 code units, which is the order of `string_ids`. Both strings must be valid.
pub fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let equal = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    // The bytes of MUTF-8 sort as the units do, except for U+0000, and C0 is the first byte of no other unit.
    let key = |bytes: &[u8]| bytes.get(equal).map(|&byte| if byte == 0xc0 { 0 } else { byte });
    key(left).cmp(&key(right))
}

/// Decodes a string. A single surrogate, and what is not valid MUTF-8, becomes U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.is_ascii()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((_, after)) = rest.split_first() {
        match unit(rest) {
            Some((value, next)) => {
                units.push(value);
                rest = next;
            }
            None => {
                units.push(0xfffd);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// Encodes a string.
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.bytes().all(|byte| matches!(byte, 1..=0x7f)) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + text.len() / 2);
    for unit in text.encode_utf16() {
        let tail = |shift: u16| 0x80 | (unit >> shift & 0x3f) as u8;
        match unit {
            1..=0x7f => bytes.push(unit as u8),
            0 | 0x80..=0x7ff => bytes.extend([0xc0 | (unit >> 6) as u8, tail(0)]),
            0x800.. => bytes.extend([0xe0 | (unit >> 12) as u8, tail(6), tail(0)]),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_nul_character_sorts_first_and_a_surrogate_pair_below_e000() {
        assert_eq!(compare(b"\xc0\x80", b"\x01"), Ordering::Less);
        assert_eq!(compare(b"a", b"a\xc0\x80"), Ordering::Less);
        assert_eq!(compare(&encode("\u{1f600}"), &encode("\u{e000}")), Ordering::Less);
        assert_eq!(compare(b"a\xc0\x80", b"a\xc0\x80"), Ordering::Equal);
    }

    #[test]
    fn invalid_sequences_have_no_length() {
        for bytes in [
            &b"\0"[..],
            b"\x80",
            b"\xc1\x81",
            b"\xe0\x80\x80",
            b"\xf0\x9f\x98\x80",
            b"\xc3",
            b"\xe1\x80",
            b"\xc3A",
        ] {
            assert_eq!(utf16_length(bytes), None, "{bytes:x?}");
        }
        assert_eq!(utf16_length(b"\xc0\x80"), Some(1));
        assert_eq!(utf16_length(b"\xed\xa0\x80"), Some(1), "a single surrogate");
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_the_same_text(text in "(?s).{0,20}") {
            let bytes = encode(&text);
            prop_assert_eq!(utf16_length(&bytes), Some(text.encode_utf16().count()));
            prop_assert_eq!(decode(&bytes), text.as_str());
        }

        #[test]
        fn order_is_that_of_utf16(left in "(?s)[\u{0}a\u{7f}\u{80}\u{7ff}\u{800}\u{ffff}\u{1f600}]{0,4}",
                                  right in "(?s)[\u{0}a\u{7f}\u{80}\u{7ff}\u{800}\u{e000}\u{1f600}]{0,4}") {
            let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
            prop_assert_eq!(compare(&encode(&left), &encode(&right)), units(&left).cmp(&units(&right)));
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = decode(&bytes);
            if utf16_length(&bytes).is_none() {
                let replaced = text.contains('\u{fffd}');
                prop_assert!(replaced || bytes.contains(&0));
            }
        }
    }
}
