//! DER, the encoding of keys, certificates and signatures (ITU-T X.690), from parts that are bytes already.
//!
//! Tags, lengths and object identifiers are read and written by the crate `der`. Its types for whole structures are not used, because they
//! read a structure to its end: of a foreign certificate only three fields matter here, and one with an odd extension is still to be named.

use der::asn1::{AnyRef, ObjectIdentifier, UintRef};
use der::{Decode as _, Encode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _};

/// Constructed, context-specific 0: what it means depends on where it stands.
pub(crate) const CONTEXT_0: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };
/// Constructed, context-specific 1.
pub(crate) const CONTEXT_1: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(1) };

/// Object identifiers.
pub(crate) mod oid {
    use der::asn1::ObjectIdentifier;

    const fn oid(arcs: &str) -> ObjectIdentifier {
        ObjectIdentifier::new_unwrap(arcs)
    }

    /// An elliptic curve key.
    pub(crate) const EC_KEY: ObjectIdentifier = oid("1.2.840.10045.2.1");
    /// The curve P-256.
    pub(crate) const P256: ObjectIdentifier = oid("1.2.840.10045.3.1.7");
    /// ECDSA with SHA-256.
    pub(crate) const ECDSA_SHA256: ObjectIdentifier = oid("1.2.840.10045.4.3.2");
    /// An RSA key.
    pub(crate) const RSA_KEY: ObjectIdentifier = oid("1.2.840.113549.1.1.1");
    /// PKCS#7 data.
    pub(crate) const PKCS7_DATA: ObjectIdentifier = oid("1.2.840.113549.1.7.1");
    /// PKCS#7 signed data.
    pub(crate) const PKCS7_SIGNED: ObjectIdentifier = oid("1.2.840.113549.1.7.2");
    /// SHA-256.
    pub(crate) const SHA256: ObjectIdentifier = oid("2.16.840.1.101.3.4.2.1");
    /// The common name.
    pub(crate) const COMMON_NAME: ObjectIdentifier = oid("2.5.4.3");
    /// The organisation.
    pub(crate) const ORGANISATION: ObjectIdentifier = oid("2.5.4.10");
}

/// Returns a value with `tag` whose contents are `parts`, one after the other.
pub(crate) fn value(tag: Tag, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    // Only contents of 4 GiB have no encoding, and these are keys and certificates from files of at most 1 MiB.
    AnyRef::new(tag, &contents).and_then(|value| value.to_der()).unwrap_or_default()
}

/// Returns a SEQUENCE of `parts`.
pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(Tag::Sequence, parts)
}

/// Returns an OBJECT IDENTIFIER.
pub(crate) fn identifier(id: ObjectIdentifier) -> Vec<u8> {
    value(Tag::ObjectIdentifier, &[id.as_bytes()])
}

/// Returns the INTEGER of a number that is not negative, from its big-endian bytes.
pub(crate) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    // Zeros in front are dropped, except the one that a zero has.
    let bytes = [&[0], bytes].concat();
    UintRef::new(&bytes).and_then(|number| number.to_der()).unwrap_or_default()
}

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    pub(crate) tag: Tag,
    pub(crate) contents: &'a [u8],
    /// With tag and length.
    pub(crate) whole: &'a [u8],
}

impl Value<'_> {
    /// Returns true if the contents are those of the object identifier `id`.
    pub(crate) fn is(&self, id: ObjectIdentifier) -> bool {
        self.contents == id.as_bytes()
    }
}

/// Reads values one after the other. Nested values are read by another reader, on the contents.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the next value. `None` if there is no other, or its length is not in the shortest form or too large.
    pub(crate) fn any(&mut self) -> Option<Value<'a>> {
        let whole = SliceReader::new(self.0).ok()?.tlv_bytes().ok()?;
        let value = AnyRef::from_der(whole).ok()?;
        self.0 = self.0.get(whole.len()..)?;
        Some(Value { tag: value.tag(), contents: value.value(), whole })
    }

    /// Reads the next value if it has this tag. Otherwise nothing is consumed.
    pub(crate) fn optional(&mut self, tag: Tag) -> Option<Value<'a>> {
        let mut ahead = *self;
        let value = ahead.any().filter(|value| value.tag == tag)?;
        *self = ahead;
        Some(value)
    }

    /// Reads the next value, which has this tag, and returns a reader of its contents.
    pub(crate) fn inside(&mut self, tag: Tag) -> Option<Reader<'a>> {
        Some(Reader(self.optional(tag)?.contents))
    }

    /// Reads the next value, which is a SEQUENCE, and returns a reader of its contents.
    pub(crate) fn sequence(&mut self) -> Option<Reader<'a>> {
        self.inside(Tag::Sequence)
    }
}

#[cfg(test)]
mod tests {
    use der::Tag;
    use proptest::prelude::*;

    use super::{Reader, sequence, unsigned, value};

    #[test]
    fn integers_have_the_shortest_form() {
        assert_eq!(unsigned(&[]), [2, 1, 0]);
        assert_eq!(unsigned(&[0, 0]), [2, 1, 0]);
        assert_eq!(unsigned(&[0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(unsigned(&[0x80]), [2, 2, 0, 0x80]);
    }

    #[test]
    fn lengths_that_are_not_der_are_refused() {
        for bytes in [
            &[4, 0x81, 1, 0][..],
            &[4, 0x80, 0, 0],
            &[4, 0x82, 0, 0x80],
            &[4, 0x85, 1, 1, 1, 1, 1],
            &[0x1f, 1, 0],
        ] {
            assert_eq!(Reader(bytes).any(), None, "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn a_written_value_is_read_and_no_prefix_of_it(contents in prop::collection::vec(any::<u8>(), 0..70_000)) {
            let bytes = sequence(&[&value(Tag::OctetString, &[&contents])]);
            let read = Reader(&bytes).sequence().and_then(|mut inside| inside.optional(Tag::OctetString));
            prop_assert_eq!(read.map(|read| read.contents), Some(&contents[..]));
            for end in (0..bytes.len().min(300)).chain([bytes.len() - 1]) {
                prop_assert_eq!(Reader(&bytes[..end]).any(), None);
            }
        }

        #[test]
        fn random_bytes_are_read_within_bounds(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = Reader(&bytes);
            while let Some(value) = reader.any() {
                prop_assert!(value.whole.len() >= value.contents.len() + 2);
            }
        }
    }
}
