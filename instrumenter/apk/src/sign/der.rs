//! DER, the encoding of keys, certificates and signatures (ITU-T X.690): writing, and reading without recursion.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OID: u8 = 0x06;
pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
/// Constructed, context-specific 0: what it means depends on where it stands.
pub(crate) const CONTEXT_0: u8 = 0xa0;

/// Object identifiers, encoded.
pub(crate) mod oid {
    /// 1.2.840.10045.2.1: an elliptic curve key.
    pub(crate) const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    /// 1.2.840.10045.3.1.7: the curve P-256.
    pub(crate) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    /// 1.2.840.10045.4.3.2: ECDSA with SHA-256.
    pub(crate) const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
    /// 1.2.840.113549.1.1.1: an RSA key.
    pub(crate) const RSA_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    /// 1.2.840.113549.1.7.1: PKCS#7 data.
    pub(crate) const PKCS7_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
    /// 1.2.840.113549.1.7.2: PKCS#7 signed data.
    pub(crate) const PKCS7_SIGNED: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
    /// 2.16.840.1.101.3.4.2.1: SHA-256.
    pub(crate) const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
    /// 2.5.4.3: the common name.
    pub(crate) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    /// 2.5.4.10: the organisation.
    pub(crate) const ORGANISATION: &[u8] = &[0x55, 0x04, 0x0a];
}

/// Returns a value with `tag` whose contents are `parts`, one after the other.
pub(crate) fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(length + 6);
    out.push(tag);
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let bytes = bytes.get(zeros..).unwrap_or_default();
        out.push(0x80 | bytes.len() as u8);
        out.extend_from_slice(bytes);
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// Returns the INTEGER of a number that is not negative, from its big-endian bytes.
pub(crate) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    let bytes = bytes.get(zeros..).unwrap_or_default();
    // The first bit is the sign.
    let sign: &[u8] = if bytes.first().is_none_or(|&byte| byte >= 0x80) { &[0] } else { &[] };
    value(INTEGER, &[sign, bytes])
}

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    pub(crate) tag: u8,
    pub(crate) contents: &'a [u8],
    /// With tag and length.
    pub(crate) whole: &'a [u8],
}

/// Reads values one after the other. Nested values are read by another reader, on the contents.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the next value. `None` if there is no other, or its length is not in the shortest form or too large.
    pub(crate) fn any(&mut self) -> Option<Value<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        // A tag of several bytes does not occur in what is read here.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if bytes.is_empty() || bytes.len() > 4 || bytes.first() == Some(&0) {
                return None;
            }
            length = bytes
                .iter()
                .try_fold(0_usize, |sum, &byte| Some(sum.checked_mul(256)? | usize::from(byte)))?;
            if length < 0x80 {
                return None;
            }
            rest = after;
        }
        let (contents, rest) = rest.split_at_checked(length)?;
        let whole = self.0.get(..self.0.len() - rest.len())?;
        self.0 = rest;
        Some(Value { tag, contents, whole })
    }

    /// Reads the next value if it has this tag. Otherwise nothing is consumed.
    pub(crate) fn optional(&mut self, tag: u8) -> Option<Value<'a>> {
        let mut ahead = *self;
        let value = ahead.any().filter(|value| value.tag == tag)?;
        *self = ahead;
        Some(value)
    }

    /// Reads the next value, which has this tag, and returns a reader of its contents.
    pub(crate) fn inside(&mut self, tag: u8) -> Option<Reader<'a>> {
        Some(Reader(self.optional(tag)?.contents))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{INTEGER, OCTET_STRING, Reader, SEQUENCE, unsigned, value};

    #[test]
    fn integers_have_the_shortest_form() {
        assert_eq!(unsigned(&[]), [INTEGER, 1, 0]);
        assert_eq!(unsigned(&[0, 0]), [INTEGER, 1, 0]);
        assert_eq!(unsigned(&[0, 0x7f]), [INTEGER, 1, 0x7f]);
        assert_eq!(unsigned(&[0x80]), [INTEGER, 2, 0, 0x80]);
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
            let bytes = value(SEQUENCE, &[&value(OCTET_STRING, &[&contents])]);
            let read = Reader(&bytes).inside(SEQUENCE).and_then(|mut inside| inside.optional(OCTET_STRING));
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
