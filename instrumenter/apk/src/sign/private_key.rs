//! Private keys: EC on P-256 and RSA, in DER.
//!
//! RSA signs with `rsa` 0.10, whose arithmetic does not depend on the key in time, unlike that of 0.9 (RUSTSEC-2023-0071),
//! and blinds the message with a random number besides. That number does not change the signature.

use der::Tag;
use der::asn1::ObjectIdentifier;
use p256::ecdsa::SigningKey;
use p256::elliptic_curve::Generate;
use rsa::BoxedUint;
use rsa::pkcs1v15;
use rsa::signature::{SignatureEncoding, Signer};
use rsa::traits::PublicKeyParts;
use sha2::Sha256;

use super::der::{CONTEXT_0, CONTEXT_1, Reader, identifier, oid, sequence, unsigned, value};
use super::public_key::{self, ECDSA_SHA256, PublicKey, RSA_SHA256, number};
use super::{Error, KeyError};

/// A private key. The debug output does not show it.
#[derive(Debug)]
pub(crate) enum PrivateKey {
    P256(SigningKey),
    Rsa(Box<pkcs1v15::SigningKey<Sha256>>),
}

/// Why a private key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is of a kind that is not supported: `an EC key on another curve`.
    Kind(&'static str),
    /// It is damaged: `its private key is cut short`.
    Damaged(&'static str),
}

const DAMAGED: Refused = Refused::Damaged("its private key is damaged");

impl PrivateKey {
    /// Generates a key on P-256.
    pub(crate) fn generate() -> Result<Self, KeyError> {
        SigningKey::try_generate().map(Self::P256).map_err(|error| KeyError::Random(error.to_string()))
    }

    /// Returns the key of P-256 with this secret number.
    pub(crate) fn from_secret(secret: &[u8]) -> Result<Self, Refused> {
        let key = SigningKey::from_slice(secret);
        key.map(Self::P256).map_err(|_| Refused::Damaged("its private key is not a number of P-256"))
    }

    /// Reads a PKCS#8 key (RFC 5208): `PRIVATE KEY`.
    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, Refused> {
        let mut fields = Reader(der).sequence().ok_or(DAMAGED)?;
        let _version = fields.optional(Tag::Integer).ok_or(DAMAGED)?;
        let mut algorithm = fields.sequence().ok_or(DAMAGED)?;
        let id = algorithm.optional(Tag::ObjectIdentifier).ok_or(DAMAGED)?;
        let key = fields.optional(Tag::OctetString).ok_or(DAMAGED)?.contents;
        if id.is(oid::RSA_KEY) {
            return Self::from_pkcs1(key);
        }
        if !id.is(oid::EC_KEY) {
            return Err(Refused::Kind("a key that is neither RSA nor EC"));
        }
        if algorithm.optional(Tag::ObjectIdentifier).is_none_or(|curve| !curve.is(oid::P256)) {
            return Err(Refused::Kind("an EC key on another curve"));
        }
        Self::from_sec1(key, false)
    }

    /// Reads a SEC 1 key (RFC 5915), `EC PRIVATE KEY`, which must name its curve if nothing else does.
    pub(crate) fn from_sec1(der: &[u8], names_curve: bool) -> Result<Self, Refused> {
        let mut fields = Reader(der).sequence().ok_or(DAMAGED)?;
        let _version = fields.optional(Tag::Integer).ok_or(DAMAGED)?;
        let secret = fields.optional(Tag::OctetString).ok_or(DAMAGED)?.contents;
        let curve = fields.inside(CONTEXT_0).and_then(|mut curve| curve.optional(Tag::ObjectIdentifier));
        match curve {
            Some(curve) if !curve.is(oid::P256) => Err(Refused::Kind("an EC key on another curve")),
            None if names_curve => Err(DAMAGED),
            _ => Self::from_secret(secret),
        }
    }

    /// Reads a PKCS#1 key (RFC 8017): `RSA PRIVATE KEY`.
    pub(crate) fn from_pkcs1(der: &[u8]) -> Result<Self, Refused> {
        let mut fields = Reader(der).sequence().ok_or(DAMAGED)?;
        let version = fields.optional(Tag::Integer).ok_or(DAMAGED)?.contents;
        if version != [0] {
            return Err(Refused::Kind("an RSA key with more than two primes"));
        }
        let mut number = || number(&mut fields).ok_or(DAMAGED);
        let (modulus, exponent, private) = (number()?, number()?, number()?);
        let primes = [number()?, number()?].map(BoxedUint::from_be_slice_vartime).to_vec();
        let public = public_key::rsa(modulus, exponent);
        let public = public.ok_or(Refused::Kind("an RSA key of an unusual size"))?;
        let private = BoxedUint::from_be_slice_vartime(private);
        let (modulus, exponent) = (public.n().as_ref().clone(), public.e().clone());
        let key = rsa::PrivateKey::from_components(modulus, exponent, private, primes);
        Ok(Self::Rsa(Box::new(pkcs1v15::SigningKey::new(key.map_err(|_| DAMAGED)?))))
    }

    /// Returns a generated key in PKCS#8; `None` if it is RSA, which is never generated.
    pub(crate) fn to_pkcs8(&self) -> Option<Vec<u8>> {
        let Self::P256(key) = self else { return None };
        let point = key.verifying_key().to_sec1_point(false);
        let public = value(CONTEXT_1, &[&value(Tag::BitString, &[&[0], point.as_ref()])]);
        let key = sequence(&[&unsigned(&[1]), &value(Tag::OctetString, &[&key.to_bytes()]), &public]);
        let algorithm = sequence(&[&identifier(oid::EC_KEY), &identifier(oid::P256)]);
        Some(sequence(&[&unsigned(&[0]), &algorithm, &value(Tag::OctetString, &[&key])]))
    }

    /// Returns the public key in DER.
    pub(crate) fn public_key(&self) -> Vec<u8> {
        match self {
            Self::P256(key) => PublicKey::encode_p256(key.verifying_key().to_sec1_point(false).as_ref()),
            Self::Rsa(key) => {
                let key: &rsa::PrivateKey = key.as_ref().as_ref();
                let numbers = [&*key.n_bytes(), &*key.e_bytes()].map(unsigned);
                let algorithm = sequence(&[&identifier(oid::RSA_KEY), &value(Tag::Null, &[])]);
                let key = sequence(&[&numbers[0], &numbers[1]]);
                sequence(&[&algorithm, &value(Tag::BitString, &[&[0], &key])])
            }
        }
    }

    /// Returns whether `public_key` (in DER) belongs to this key. Keys and not bytes are compared, since a point has two
    /// encodings.
    pub(crate) fn is_half_of(&self, public_key: &[u8]) -> bool {
        match (self, PublicKey::read(public_key)) {
            (Self::P256(key), Some(PublicKey::P256(public))) => *key.verifying_key() == public,
            (Self::Rsa(key), Some(PublicKey::Rsa(public))) => {
                let key: &rsa::PrivateKey = key.as_ref().as_ref();
                key.n() == public.n() && key.e() == public.e()
            }
            _ => false,
        }
    }

    /// Returns the number of the signature algorithm in schemes v2 and v3.
    pub(crate) fn algorithm(&self) -> u32 {
        match self {
            Self::P256(_) => ECDSA_SHA256,
            Self::Rsa(_) => RSA_SHA256,
        }
    }

    /// Returns the object identifier of the kind of the key.
    pub(crate) fn key_oid(&self) -> ObjectIdentifier {
        match self {
            Self::P256(_) => oid::EC_KEY,
            Self::Rsa(_) => oid::RSA_KEY,
        }
    }

    /// Returns the signature of `message` with SHA-256: ECDSA in DER, or RSA (PKCS#1 v1.5).
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.try_sign(message).map_err(failed)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Self::Rsa(key) => Ok(key.try_sign(message).map_err(failed)?.to_vec()),
        }
    }
}

fn failed(error: rsa::signature::Error) -> Error {
    Error::Sign(error.to_string())
}
