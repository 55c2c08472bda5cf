//! Public keys: EC on P-256 and RSA.

use der::Tag;
use p256::ecdsa::VerifyingKey;
use rsa::BoxedUint;

use super::der::{Reader, identifier, oid, sequence, value};

/// The largest RSA key, in bytes: 8,192 bits.
pub(crate) const MAX_RSA: usize = 1024;

/// RSA (PKCS#1 v1.5) with SHA-256 in schemes v2 and v3, with digests of chunks of 1 MiB.
pub(crate) const RSA_SHA256: u32 = 0x0103;
/// ECDSA with SHA-256 in schemes v2 and v3, with digests of chunks of 1 MiB.
pub(crate) const ECDSA_SHA256: u32 = 0x0201;

/// A public key of a kind that this crate signs with.
#[derive(Debug)]
pub(crate) enum PublicKey {
    P256(VerifyingKey),
    Rsa(rsa::PublicKey),
}

impl PublicKey {
    /// Reads a public key in DER (`SubjectPublicKeyInfo`). `None` if it is of another kind or damaged.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let mut fields = Reader(der).sequence()?;
        let mut algorithm = fields.sequence()?;
        let key = fields.optional(Tag::BitString)?.contents.strip_prefix(&[0])?;
        match algorithm.optional(Tag::ObjectIdentifier)? {
            id if id.is(oid::EC_KEY) && algorithm.optional(Tag::ObjectIdentifier)?.is(oid::P256) => {
                VerifyingKey::from_sec1_bytes(key).ok().map(Self::P256)
            }
            id if id.is(oid::RSA_KEY) => {
                let mut numbers = Reader(key).sequence()?;
                rsa(number(&mut numbers)?, number(&mut numbers)?).map(Self::Rsa)
            }
            _ => None,
        }
    }

    /// Returns the key of P-256 whose point has this encoding (SEC 1), in DER.
    pub(crate) fn encode_p256(point: &[u8]) -> Vec<u8> {
        let algorithm = sequence(&[&identifier(oid::EC_KEY), &identifier(oid::P256)]);
        sequence(&[&algorithm, &value(Tag::BitString, &[&[0], point])])
    }
}

/// Reads a positive INTEGER and returns its bytes without zeros in front.
pub(crate) fn number<'a>(fields: &mut Reader<'a>) -> Option<&'a [u8]> {
    let bytes = fields.optional(Tag::Integer)?.contents;
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    bytes.get(zeros..).filter(|bytes| !bytes.is_empty() && bytes.len() <= MAX_RSA)
}

/// Returns an RSA key of modulus and exponent; `None` if it is not of 1024 to 8192 bits.
pub(crate) fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<rsa::PublicKey> {
    let exponent = (exponent.len() <= 8).then(|| BoxedUint::from_be_slice_vartime(exponent))?;
    rsa::PublicKey::new(BoxedUint::from_be_slice_vartime(modulus), exponent).ok()
}
