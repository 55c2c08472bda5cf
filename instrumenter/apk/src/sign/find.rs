//! Who signed an APK.

use super::block::{self, Block, Fields};
use super::{Error, Scheme, digest, v1};
use crate::layout;
use crate::layout::sections::Sections;

/// The largest JAR signature file that is read, in bytes.
const MAX_PKCS7: u64 = 1 << 20;
/// More signers than Android accepts in an APK (10).
const MAX_SIGNERS: usize = 10;

/// A signer of an APK, as the signature names it. Whether the signature is correct is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundSigner {
    /// The scheme.
    pub scheme: Scheme,
    /// SHA-256 of the signer's certificate.
    pub certificate_digest: [u8; 32],
}

/// Reads the certificate of a signer in the signing block.
fn certificate<'a>(mut fields: Fields<'a>, scheme: Scheme) -> Result<&'a [u8], Error> {
    let mut signed = fields.prefixed()?;
    let sdk = sdk(&mut fields, scheme)?;
    let _signatures = fields.prefixed()?;
    let _public_key = fields.prefixed()?;
    let _digests = signed.prefixed()?;
    let mut certificates = signed.prefixed()?;
    if sdk != self::sdk(&mut signed, scheme)? {
        return Err(wrong(scheme, "the signed API levels differ from those that are not signed"));
    }
    let _attributes = signed.prefixed()?;
    Ok(certificates.prefixed()?.bytes)
}

fn sdk(fields: &mut Fields<'_>, scheme: Scheme) -> Result<Option<(u32, u32)>, Error> {
    Ok(if scheme >= Scheme::V3 { Some((fields.u32()?, fields.u32()?)) } else { None })
}

fn wrong(scheme: Scheme, what: &'static str) -> Error {
    Error::Signature { scheme, what }
}

/// Returns the certificates of the signers of `scheme`.
fn certificates<'a>(block: &Block<'a>, scheme: Scheme, id: u32) -> Result<Vec<&'a [u8]>, Error> {
    let Some(mut value) = block.value(id)? else { return Ok(Vec::new()) };
    let mut list = value.prefixed()?;
    let mut signers = Vec::new();
    while !list.is_empty() {
        if signers.len() == MAX_SIGNERS {
            return Err(Error::Block { at: list.at, what: "more than 10 signers" });
        }
        signers.push(certificate(list.prefixed()?, scheme)?);
    }
    if signers.is_empty() { Err(wrong(scheme, "it has no signer")) } else { Ok(signers) }
}

/// The schemes in the signing block, and the ids of their values.
const SCHEMES: [(Scheme, u32); 3] =
    [(Scheme::V2, block::V2), (Scheme::V3, block::V3), (Scheme::V31, block::V31)];

/// Returns the signers of an APK by the order of schemes; none if it is not signed.
///
/// # Errors
/// The APK or its signing block is damaged.
pub fn find_signers(apk: &[u8]) -> Result<Vec<FoundSigner>, Error> {
    let mut found = Vec::new();
    for entry in layout::read(apk)? {
        let is_pkcs7 = zip_archive::is_signature(&entry.name)
            && [b".RSA".as_slice(), b".DSA", b".EC"]
                .iter()
                .any(|end| entry.name.to_ascii_uppercase().ends_with(end));
        if !is_pkcs7 {
            continue;
        }
        let contents = entry.contents(MAX_PKCS7);
        if let Some(certificate) = contents.as_deref().ok().and_then(v1::signer_certificate) {
            found.push(FoundSigner { scheme: Scheme::V1, certificate_digest: digest::sha256(certificate) });
        }
    }
    if let Some(block) = Block::find(apk, Sections::find(apk)?.directory)? {
        for (scheme, id) in SCHEMES {
            for certificate in certificates(&block, scheme, id)? {
                found.push(FoundSigner { scheme, certificate_digest: digest::sha256(certificate) });
            }
        }
    }
    Ok(found)
}
