//! X.509 certificates (RFC 5280): a self-signed one for a generated key, and the fields of others that signatures name.

use std::time::{Duration, SystemTime};

use super::der::{
    BIT_STRING, CONTEXT_0, GENERALIZED_TIME, INTEGER, OID, Reader, SEQUENCE, SET, UTC_TIME, UTF8_STRING, oid,
    unsigned, value,
};
use super::digest::sha256;

/// How long a generated certificate is valid: 30 years, in days. Android wants a new version of an app to have the
/// certificate of the old one for as long as the app exists.
const VALID_DAYS: u64 = 10_957;
const DAY: u64 = 24 * 60 * 60;

/// The fields of a certificate, each encoded in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Certificate<'a> {
    pub(crate) serial: &'a [u8],
    pub(crate) issuer: &'a [u8],
    pub(crate) public_key: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Reads a certificate. `None` if it is damaged.
    pub(crate) fn read(der: &'a [u8]) -> Option<Self> {
        let mut fields = Reader(der).inside(SEQUENCE)?.inside(SEQUENCE)?;
        // The version; without it the first one.
        let _ = fields.optional(CONTEXT_0);
        let serial = fields.optional(INTEGER)?.whole;
        let _algorithm = fields.inside(SEQUENCE)?;
        let issuer = fields.optional(SEQUENCE)?.whole;
        let _validity = fields.inside(SEQUENCE)?;
        let _subject = fields.inside(SEQUENCE)?;
        let public_key = fields.optional(SEQUENCE)?.whole;
        Some(Self { serial, issuer, public_key })
    }
}

/// Returns the name `O=anrscope, CN=anrscope debug`.
fn name() -> Vec<u8> {
    let part = |id: &[u8], text: &str| {
        value(SET, &[&value(SEQUENCE, &[&value(OID, &[id]), &value(UTF8_STRING, &[text.as_bytes()])])])
    };
    value(SEQUENCE, &[&part(oid::ORGANISATION, "anrscope"), &part(oid::COMMON_NAME, "anrscope debug")])
}

/// Returns year, month and day of a number of days since 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // The days of a year are counted from 1 March, so that a leap day is the last one.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year_of_era + next, month, day)
}

/// Returns the start of a day as a time of a certificate, which has two forms.
fn time(days: u64) -> Vec<u8> {
    let (year, month, day) = date(days);
    let rest = format!("{month:02}{day:02}000000Z");
    if year < 2050 {
        value(UTC_TIME, &[format!("{:02}", year % 100).as_bytes(), rest.as_bytes()])
    } else {
        value(GENERALIZED_TIME, &[format!("{year:04}").as_bytes(), rest.as_bytes()])
    }
}

/// Returns the algorithm "ECDSA with SHA-256".
fn algorithm() -> Vec<u8> {
    value(SEQUENCE, &[&value(OID, &[oid::ECDSA_SHA256])])
}

/// Returns a certificate for `public_key` (of P-256, in DER) that is signed by `sign`, valid from the day of `now`.
pub(crate) fn self_signed<E>(
    public_key: &[u8],
    now: SystemTime,
    sign: impl Fn(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let days = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() / DAY;
    // A certificate of a clock that is set to the far future verifies nowhere, but must not fail to be encoded.
    let days = days.min(2_000_000);
    // Unique for each key, and without the time.
    let digest = sha256(public_key);
    let serial = unsigned(digest.get(..16).unwrap_or_default());
    let validity = value(SEQUENCE, &[&time(days), &time(days + VALID_DAYS)]);
    let signed = value(SEQUENCE, &[&serial, &algorithm(), &name(), &validity, &name(), public_key]);
    Ok(value(SEQUENCE, &[&signed, &algorithm(), &value(BIT_STRING, &[&[0], &sign(&signed)?])]))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use proptest::prelude::*;

    use super::{Certificate, date, self_signed, time};
    use crate::sign::public_key::PublicKey;

    fn sign(_: &[u8]) -> Result<Vec<u8>, ()> {
        Ok(vec![1; 70])
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_783, (2026, 11, 26)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected);
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
