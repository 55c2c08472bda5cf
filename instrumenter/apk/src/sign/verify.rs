//! Who signed an APK, and whether the signatures of schemes v2 and v3 are correct.

use super::archive::set_directory;
use super::block::{self, Block, Fields};
use super::certificate::Certificate;
use super::public_key::PublicKey;
use super::scheme::STRIPPING_PROTECTION;
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

/// A signer whose signature [`verify`] has checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The scheme.
    pub scheme: Scheme,
    /// SHA-256 of the signer's certificate.
    pub certificate_digest: [u8; 32],
    /// The API levels for which the signature counts; `None` for v2.
    pub sdk: Option<(u32, u32)>,
}

/// A signer in the signing block.
struct Signer<'a> {
    signed: Fields<'a>,
    sdk: Option<(u32, u32)>,
    signatures: Fields<'a>,
    public_key: &'a [u8],
    digests: Fields<'a>,
    certificate: &'a [u8],
    attributes: Fields<'a>,
}

impl<'a> Signer<'a> {
    fn read(mut fields: Fields<'a>, scheme: Scheme) -> Result<Self, Error> {
        let signed = fields.prefixed()?;
        let sdk = sdk(&mut fields, scheme)?;
        let signatures = fields.prefixed()?;
        let public_key = fields.prefixed()?.bytes;
        let mut inner = signed;
        let digests = inner.prefixed()?;
        let mut certificates = inner.prefixed()?;
        if sdk != self::sdk(&mut inner, scheme)? {
            return Err(wrong(scheme, "the signed API levels differ from those that are not signed"));
        }
        let attributes = inner.prefixed()?;
        let certificate = certificates.prefixed()?.bytes;
        Ok(Self { signed, sdk, signatures, public_key, digests, certificate, attributes })
    }
}

fn sdk(fields: &mut Fields<'_>, scheme: Scheme) -> Result<Option<(u32, u32)>, Error> {
    Ok(if scheme >= Scheme::V3 { Some((fields.u32()?, fields.u32()?)) } else { None })
}

fn wrong(scheme: Scheme, what: &'static str) -> Error {
    Error::Signature { scheme, what }
}

/// Returns the signers of `scheme`.
fn signers<'a>(block: &Block<'a>, scheme: Scheme, id: u32) -> Result<Vec<Signer<'a>>, Error> {
    let Some(mut value) = block.value(id)? else { return Ok(Vec::new()) };
    let mut list = value.prefixed()?;
    let mut signers = Vec::new();
    while !list.is_empty() {
        if signers.len() == MAX_SIGNERS {
            return Err(Error::Block { at: list.at, what: "more than 10 signers" });
        }
        signers.push(Signer::read(list.prefixed()?, scheme)?);
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
            for signer in signers(&block, scheme, id)? {
                found.push(FoundSigner { scheme, certificate_digest: digest::sha256(signer.certificate) });
            }
        }
    }
    Ok(found)
}

/// Verifies the signatures of schemes v2 and v3 that are ECDSA on P-256 or RSA (PKCS#1 v1.5), with SHA-256. Returns the signers;
/// none if the APK has no signing block.
///
/// # Errors
/// The APK or its signing block is damaged, a signature or the digest of the contents is wrong, or a signer has no
/// signature of this algorithm.
pub fn verify(apk: &[u8]) -> Result<Vec<Verified>, Error> {
    let sections = Sections::find(apk)?;
    let Some(block) = Block::find(apk, sections.directory)? else { return Ok(Vec::new()) };
    let part = |range: core::ops::Range<usize>| apk.get(range).unwrap_or_default();
    let mut end = part(sections.end..apk.len()).to_vec();
    set_directory(&mut end, block.at)?;
    let contents = digest::of_contents([part(0..block.at), part(sections.directory..sections.end), &end]);
    let mut verified = Vec::new();
    for (scheme, id) in SCHEMES {
        for signer in signers(&block, scheme, id)? {
            verify_signer(&signer, scheme, &contents)?;
            if scheme == Scheme::V2 && names_v3(signer.attributes)? && block.value(block::V3)?.is_none() {
                return Err(wrong(scheme, "it names a v3 signature, which the APK does not have"));
            }
            let certificate_digest = digest::sha256(signer.certificate);
            verified.push(Verified { scheme, certificate_digest, sdk: signer.sdk });
        }
    }
    Ok(verified)
}

/// Returns the value of `algorithm` in a list of pairs.
fn find<'a>(mut list: Fields<'a>, algorithm: u32) -> Result<Option<&'a [u8]>, Error> {
    while !list.is_empty() {
        let mut pair = list.prefixed()?;
        if pair.u32()? == algorithm {
            return Ok(Some(pair.prefixed()?.bytes));
        }
    }
    Ok(None)
}

fn names_v3(mut attributes: Fields<'_>) -> Result<bool, Error> {
    while !attributes.is_empty() {
        let mut attribute = attributes.prefixed()?;
        if attribute.u32()? == STRIPPING_PROTECTION && attribute.u32()? == 3 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn verify_signer(signer: &Signer<'_>, scheme: Scheme, contents: &[u8; 32]) -> Result<(), Error> {
    let wrong = |what| wrong(scheme, what);
    let key =
        PublicKey::read(signer.public_key).ok_or(wrong("its public key is neither RSA nor on P-256"))?;
    let signature = find(signer.signatures, key.algorithm())?;
    let signature = signature.ok_or(wrong("it has no signature of a supported algorithm"))?;
    if !key.verify(signer.signed.bytes, signature) {
        return Err(wrong("the signed data was changed"));
    }
    let certificate = Certificate::read(signer.certificate).ok_or(wrong("its certificate is damaged"))?;
    if certificate.public_key != signer.public_key {
        return Err(wrong("its public key differs from the certificate's"));
    }
    match find(signer.digests, key.algorithm())? {
        Some(digest) if digest == contents => Ok(()),
        Some(_) => Err(wrong("the contents of the APK were changed")),
        None => Err(wrong("it has no SHA-256 of the contents")),
    }
}
