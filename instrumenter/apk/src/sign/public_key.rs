//! Public keys: EC on P-256 and RSA.

use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use rsa::BoxedUint;
use rsa::pkcs1v15;
use sha2::Sha256;

use super::der::{BIT_STRING, INTEGER, OID, Reader, SEQUENCE, oid, value};
use super::scheme::{ECDSA_SHA256, RSA_SHA256};

/// The largest RSA key, in bytes: 8,192 bits.
pub(crate) const MAX_RSA: usize = 1024;

/// A public key of a kind that this crate signs with.
#[derive(Debug)]
pub(crate) enum PublicKey {
    P256(VerifyingKey),
    Rsa(rsa::PublicKey),
}

impl PublicKey {
    /// Reads a public key in DER (`SubjectPublicKeyInfo`). `None` if it is of another kind or damaged.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let mut fields = Reader(der).inside(SEQUENCE)?;
        let mut algorithm = fields.inside(SEQUENCE)?;
        let key = fields.optional(BIT_STRING)?.contents.strip_prefix(&[0])?;
        match algorithm.optional(OID)?.contents {
            id if id == oid::EC_KEY && algorithm.optional(OID)?.contents == oid::P256 => {
                VerifyingKey::from_sec1_bytes(key).ok().map(Self::P256)
            }
            id if id == oid::RSA_KEY => {
                let mut numbers = Reader(key).inside(SEQUENCE)?;
                rsa(number(&mut numbers)?, number(&mut numbers)?).map(Self::Rsa)
            }
            _ => None,
        }
    }

    /// Returns the key of P-256 whose point has this encoding (SEC 1), in DER.
    pub(crate) fn encode_p256(point: &[u8]) -> Vec<u8> {
        let algorithm = value(SEQUENCE, &[&value(OID, &[oid::EC_KEY]), &value(OID, &[oid::P256])]);
        value(SEQUENCE, &[&algorithm, &value(BIT_STRING, &[&[0], point])])
    }

    /// Returns the number of the signature algorithm in schemes v2 and v3.
    pub(crate) fn algorithm(&self) -> u32 {
        match self {
            Self::P256(_) => ECDSA_SHA256,
            Self::Rsa(_) => RSA_SHA256,
        }
    }

    /// Returns whether `signature` is one of `message` by this key.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => {
                ecdsa_signature(signature).is_some_and(|signature| key.verify(message, &signature).is_ok())
            }
            Self::Rsa(key) => {
                let key = pkcs1v15::VerifyingKey::<Sha256>::new(key.clone());
                let signature = pkcs1v15::Signature::try_from(signature);
                signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
        }
    }
}

/// Reads a positive INTEGER and returns its bytes without zeros in front.
pub(crate) fn number<'a>(fields: &mut Reader<'a>) -> Option<&'a [u8]> {
    let bytes = fields.optional(INTEGER)?.contents;
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    bytes.get(zeros..).filter(|bytes| !bytes.is_empty() && bytes.len() <= MAX_RSA)
}

/// Returns an RSA key of modulus and exponent; `None` if it is not of 1024 to 8192 bits.
pub(crate) fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<rsa::PublicKey> {
    let exponent = (exponent.len() <= 8).then(|| BoxedUint::from_be_slice_vartime(exponent))?;
    rsa::PublicKey::new(BoxedUint::from_be_slice_vartime(modulus), exponent).ok()
}

/// Reads an ECDSA signature in DER.
fn ecdsa_signature(der: &[u8]) -> Option<Signature> {
    let mut numbers = Reader(der).inside(SEQUENCE)?;
    let mut padded = || -> Option<[u8; 32]> {
        let bytes = number(&mut numbers)?;
        let mut padded = [0; 32];
        padded.get_mut(32_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
        Some(padded)
    };
    Signature::from_scalars(padded()?, padded()?).ok()
}
