//! APK Signature Scheme v2 and v3: what the signing block contains.
//!
//! ```text
//! signers: signer...
//! signer:  signed data | [min, max SDK] | signatures: (algorithm, signature)... | public key
//! signed data: digests: (algorithm, digest)... | certificates | [min, max SDK] | attributes
//! ```
//!
//! The SDK versions are only in v3. Everything but numbers stands behind its length.

use super::block::prefixed;
use super::{Error, Identity};

/// The attribute of a v2 signature that names the newest scheme of the APK. Android refuses an APK from which an attacker
/// has removed that scheme's signature.
const STRIPPING_PROTECTION: u32 = 0xbeef_f00d;
/// v3 signatures with this algorithm are valid from Android 7 on (apksig, `SignatureAlgorithm`).
const V3_MIN_SDK: u32 = 24;
/// "No upper limit" of a v3 signature.
const V3_MAX_SDK: u32 = i32::MAX as u32;

/// Returns the value of scheme v2 in a block that has v3 too, for contents with this digest.
pub(crate) fn v2(identity: &Identity, digest: &[u8; 32]) -> Result<Vec<u8>, Error> {
    let attribute = [STRIPPING_PROTECTION.to_le_bytes(), 3_u32.to_le_bytes()].concat();
    signers(identity, digest, &[], &prefixed(&[&prefixed(&[&attribute])]))
}

/// Returns the value of scheme v3 for contents with this digest.
pub(crate) fn v3(identity: &Identity, digest: &[u8; 32]) -> Result<Vec<u8>, Error> {
    let range = [V3_MIN_SDK.to_le_bytes(), V3_MAX_SDK.to_le_bytes()].concat();
    signers(identity, digest, &range, &prefixed(&[]))
}

fn signers(
    identity: &Identity,
    digest: &[u8; 32],
    range: &[u8],
    attributes: &[u8],
) -> Result<Vec<u8>, Error> {
    let algorithm = identity.key.algorithm().to_le_bytes();
    let digests = prefixed(&[&prefixed(&[&algorithm, &prefixed(&[digest])])]);
    let certificates: Vec<u8> = identity.certificates().iter().flat_map(|der| prefixed(&[der])).collect();
    let signed = [&digests, &prefixed(&[&certificates]), range, attributes].concat();
    let signature = prefixed(&[&identity.key.sign(&signed)?]);
    let signatures = prefixed(&[&prefixed(&[&algorithm, &signature])]);
    let signer = [&prefixed(&[&signed]), range, &signatures, &prefixed(&[&identity.public_key])].concat();
    Ok(prefixed(&[&prefixed(&[&signer])]))
}
