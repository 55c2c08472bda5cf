//! X.509 certificates (RFC 5280): a self-signed one for a generated key, and the fields of others that signatures name.

use std::time::{Duration, SystemTime};

use der::asn1::{GeneralizedTime, ObjectIdentifier, UtcTime};
use der::{Encode as _, Tag};

use super::der::{CONTEXT_0, Reader, identifier, oid, sequence, unsigned, value};
use super::digest::sha256;

/// How long a generated certificate is valid: 30 years, in days. Android wants a new version of an app to have the
/// certificate of the old one for as long as the app exists.
const VALID_DAYS: u64 = 10_957;
const DAY: u64 = 24 * 60 * 60;
/// The last day from which a certificate is valid, in the year 7445. With a clock that is set to the far future it verifies nowhere, but
/// must not fail to be encoded, and a year has four digits.
const LAST_DAY: u64 = 2_000_000;

/// The fields of a certificate, each encoded in DER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Certificate<'a> {
    pub(crate) serial: &'a [u8],
    pub(crate) issuer: &'a [u8],
    pub(crate) public_key: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Reads a certificate. `None` if it is damaged.
    pub(crate) fn read(der: &'a [u8]) -> Option<Self> {
        let mut fields = Reader(der).sequence()?.sequence()?;
        // The version; without it the first one.
        let _ = fields.optional(CONTEXT_0);
        let serial = fields.optional(Tag::Integer)?.whole;
        let _algorithm = fields.sequence()?;
        let issuer = fields.optional(Tag::Sequence)?.whole;
        let _validity = fields.sequence()?;
        let _subject = fields.sequence()?;
        let public_key = fields.optional(Tag::Sequence)?.whole;
        Some(Self { serial, issuer, public_key })
    }
}

/// Returns the name `O=anrscope, CN=anrscope debug`.
fn name() -> Vec<u8> {
    let part = |id: ObjectIdentifier, text: &str| {
        value(Tag::Set, &[&sequence(&[&identifier(id), &value(Tag::Utf8String, &[text.as_bytes()])])])
    };
    sequence(&[&part(oid::ORGANISATION, "anrscope"), &part(oid::COMMON_NAME, "anrscope debug")])
}

/// Returns the start of a day as a time of a certificate, which has two forms: from 2050 on with four digits of the year.
fn time(days: u64) -> Vec<u8> {
    let since_1970 = Duration::from_secs(days * DAY);
    let short = UtcTime::from_unix_duration(since_1970).and_then(|time| time.to_der());
    let long = || GeneralizedTime::from_unix_duration(since_1970)?.to_der();
    // Only years after 9999 have no form.
    short.or_else(|_| long()).unwrap_or_default()
}

/// Returns the algorithm "ECDSA with SHA-256".
fn algorithm() -> Vec<u8> {
    sequence(&[&identifier(oid::ECDSA_SHA256)])
}

/// Returns a certificate for `public_key` (of P-256, in DER) that is signed by `sign`, valid from the day of `now`.
pub(crate) fn self_signed<E>(
    public_key: &[u8],
    now: SystemTime,
    sign: impl Fn(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let days = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() / DAY;
    let days = days.min(LAST_DAY);
    // Unique for each key, and without the time.
    let digest = sha256(public_key);
    let serial = unsigned(digest.get(..16).unwrap_or_default());
    let validity = sequence(&[&time(days), &time(days + VALID_DAYS)]);
    let signed = sequence(&[&serial, &algorithm(), &name(), &validity, &name(), public_key]);
    Ok(sequence(&[&signed, &algorithm(), &value(Tag::BitString, &[&[0], &sign(&signed)?])]))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use proptest::prelude::*;

    use super::{Certificate, LAST_DAY, VALID_DAYS, self_signed, time};
    use crate::sign::public_key::PublicKey;

    fn sign(_: &[u8]) -> Result<Vec<u8>, ()> {
        Ok(vec![1; 70])
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "\x17\x0d700101"),
            (58, "\x17\x0d700228"),
            (59, "\x17\x0d700301"),
            (11_016, "\x17\x0d000229"),
            (11_017, "\x17\x0d000301"),
            (20_783, "\x17\x0d261126"),
            (47_540, "\x18\x0f21000228"),
            (47_541, "\x18\x0f21000301"),
            (LAST_DAY + VALID_DAYS, "\x18\x0f74751025"),
        ] {
            assert_eq!(String::from_utf8(time(days)).unwrap(), format!("{expected}000000Z"));
        }
    }

    #[test]
    fn times_from_2050_on_have_four_digits_of_the_year() {
        assert_eq!(time(29_219), b"\x17\x0d491231000000Z");
        assert_eq!(time(29_220), b"\x18\x0f20500101000000Z");
    }

    #[test]
    fn the_fields_of_a_certificate_are_read_and_no_prefix_of_it() {
        let key = PublicKey::encode_p256(&[4; 65]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let der = self_signed(&key, now, sign).unwrap();
        let fields = Certificate::read(&der).unwrap();
        assert_eq!(fields.public_key, key);
        for end in 0..der.len() {
            assert_eq!(Certificate::read(&der[..end]), None, "{end}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_certificate_is_read_within_bounds(at in 0_usize..250, byte: u8) {
            let mut der = self_signed(&PublicKey::encode_p256(&[4; 65]), SystemTime::UNIX_EPOCH, sign).unwrap();
            if let Some(place) = der.get_mut(at) {
                *place = byte;
            }
            if let Some(fields) = Certificate::read(&der) {
                PublicKey::read(fields.public_key);
            }
        }
    }
}
