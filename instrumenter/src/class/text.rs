//! Names and descriptors as text.

use std::borrow::Cow;

use dex::mutf8;

/// Returns whether a name fits into a line of a map. The JVM allows line breaks in names (JVMS 4.2.2).
#[inline]
pub(crate) fn fits_a_line(name: &str) -> bool {
    !name.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Decodes the modified UTF-8 of class files.
///
/// Class files may contain half a surrogate pair, which a Rust string cannot. Such a unit, and any byte that is not
/// modified UTF-8, becomes `\uXXXX`, so that different names stay different.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = core::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut units = Vec::with_capacity(bytes.len());
    for unit in mutf8::units(bytes) {
        match unit {
            Ok(unit) => units.push(unit),
            Err(byte) => units.extend(format!("\\u{byte:04x}").encode_utf16()),
        }
    }
    let mut text = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(character) => text.push(character),
            Err(half) => text.push_str(&format!("\\u{:04x}", half.unpaired_surrogate())),
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn modified_utf8_is_decoded_without_collisions() {
        assert_eq!(decode(b"java/lang/Object"), "java/lang/Object");
        assert_eq!(decode("größe".as_bytes()), "größe");
        // U+1F600 as the surrogate pair that javac writes, and NUL as two bytes.
        assert_eq!(decode(&[0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]), "\u{1F600}");
        assert_eq!(decode(&[b'a', 0xC0, 0x80]), "a\0");
        assert_eq!(decode(&[0xED, 0xA0, 0xBD]), "\\ud83d");
        assert_eq!(decode(&[0xFF, b'x', 0xE0]), "\\u00ffx\\u00e0");
    }
}
