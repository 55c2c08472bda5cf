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
        let (unit, length) = unit(rest)?;
        let shortest = match unit {
            1..=0x7f => 1,
            0 | 0x80..=0x7ff => 2,
            0x800.. => 3,
        };
        rest = rest.get(length..).filter(|_| length == shortest)?;
        units += 1;
    }
    Some(units)
}

/// Returns the first code unit and the length of its encoding, which may be longer than necessary.
fn unit(bytes: &[u8]) -> Option<(u16, usize)> {
    let (&first, tail) = bytes.split_first()?;
    let (high, low) = match first {
        0..=0x7f => (first, 0),
        0xc0..=0xdf => (first & 0x1f, 1),
        0xe0..=0xef => (first & 0x0f, 2),
        _ => return None,
    };
    let add = |unit: u16, byte: &u8| (byte & 0xc0 == 0x80).then_some(unit << 6 | u16::from(byte & 0x3f));
    Some((tail.get(..low)?.iter().try_fold(u16::from(high), add)?, 1 + low))
}

/// Returns the code units of a string. A byte that belongs to none is an error in its place, and encodings that are
/// longer than necessary are read.
pub fn units(mut bytes: &[u8]) -> impl Iterator<Item = Result<u16, u8>> {
    std::iter::from_fn(move || {
        let first = *bytes.first()?;
        let (unit, length) = unit(bytes).map_or((Err(first), 1), |(unit, length)| (Ok(unit), length));
        bytes = bytes.get(length..)?;
        Some(unit)
    })
}

/// Compares by UTF-16 code units, which is the order of `string_ids`. Both strings must be valid.
pub fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let equal = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    // The bytes of MUTF-8 sort as the units do, except for U+0000, and C0 is the first byte of no other unit.
    let key = |bytes: &[u8]| bytes.get(equal).map(|&byte| if byte == 0xc0 { 0 } else { byte });
    key(left).cmp(&key(right))
}

/// Decodes a string, which may be UTF-8 as well. A single surrogate, and each byte that belongs to no code unit, becomes
/// U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let units: Vec<u16> = units(bytes).map(|unit| unit.unwrap_or(0xfffd)).collect();
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
            let is_broken = std::str::from_utf8(&bytes).is_err() && units(&bytes).any(|unit| unit.is_err());
            let is_replaced = text.contains('\u{fffd}');
            prop_assert!(!is_broken || is_replaced);
            if let Some(units) = utf16_length(&bytes) {
                prop_assert_eq!(text.encode_utf16().count(), units);
            }
        }
    }
}
