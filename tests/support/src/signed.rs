//! Judges finished APKs as Android does: where stored entries start, and whether the signatures of schemes v2 and v3
//! are correct. Shares nothing with the code that lays out and signs them.

use std::borrow::Cow;

use apk::layout::{self, DEFLATED, Data, STORED};
use p256::ecdsa::signature::Verifier;
use rsa::{BoxedUint, pkcs1v15};
use sha2::{Digest, Sha256};

#[derive(Debug, Default)]
pub struct Checked {
    pub entries: usize,
    pub stored: usize,
    /// Stored entries that do not start where Android needs them: name, offset, and what must divide it.
    pub misaligned: Vec<(String, usize, usize)>,
    /// Android refuses it for apps that target API 30 or later.
    pub resources_compressed: bool,
    /// Android does not load these if `extractNativeLibs` is false.
    pub libraries_compressed: usize,
}

/// Checks the alignment of `apk`: stored libraries at 16,384 bytes, other stored entries at 4.
pub fn check(apk: &[u8]) -> Result<Checked, String> {
    let mut checked = Checked::default();
    Sections::find(apk)?;
    for entry in layout::read(apk).map_err(|broken| broken.to_string())? {
        let Data::Copied { method, bytes: Cow::Borrowed(bytes), .. } = &entry.data else { continue };
        let is_library = entry.name.starts_with(b"lib/") && entry.name.ends_with(b".so");
        let multiple = if is_library { 16_384 } else { 4 };
        let at = bytes.as_ptr().addr() - apk.as_ptr().addr();
        checked.entries += 1;
        if *method == STORED {
            checked.stored += 1;
            if !at.is_multiple_of(multiple) {
                checked.misaligned.push((entry.display_name(), at, multiple));
            }
        } else if *method == DEFLATED {
            checked.resources_compressed |= &*entry.name == b"resources.arsc";
            checked.libraries_compressed += usize::from(is_library);
        }
    }
    Ok(checked)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    pub scheme: &'static str,
    /// SHA-256 of the signer's certificate.
    pub certificate_digest: [u8; 32],
    /// The API levels for which the signature counts; `None` for v2.
    pub sdk: Option<(u32, u32)>,
}

/// Verifies the signatures of schemes v2 and v3, and returns their signers; none if the APK has no signing block.
pub fn verify(apk: &[u8]) -> Result<Vec<Verified>, String> {
    let sections = Sections::find(apk)?;
    if !apk[..sections.directory].ends_with(b"APK Sig Block 42") {
        return Ok(Vec::new());
    }
    let damaged = || "the signing block is damaged".to_owned();
    let (block_at, mut pairs) = sections.block(apk).ok_or_else(damaged)?;
    let mut values = Vec::new();
    while !pairs.0.is_empty() {
        let mut pair = pairs.pair().ok_or_else(damaged)?;
        values.push((pair.u32().ok_or_else(damaged)?, pair));
    }
    let value = |id: u32| values.iter().find(|(found, _)| *found == id).map(|(_, value)| *value);
    let contents = sections.digest(apk, block_at);
    let mut verified = Vec::new();
    for (scheme, id) in [("v2", V2), ("v3", V3)] {
        let Some(mut value) = value(id) else { continue };
        let mut list = value.prefixed().ok_or_else(damaged)?;
        while !list.0.is_empty() {
            let signer = list.prefixed().ok_or_else(damaged)?;
            let (signer, names_v3) = signer.verified(scheme, &contents).ok_or_else(damaged)??;
            if names_v3 && values.iter().all(|(id, _)| *id != V3) {
                return Err("the v2 signature names a v3 signature, which the APK does not have".to_owned());
            }
            verified.push(signer);
        }
    }
    Ok(verified)
}

const V2: u32 = 0x7109_871a;
const V3: u32 = 0xf053_68c0;

/// The starts of the directory and of its end record.
struct Sections {
    directory: usize,
    end: usize,
}

impl Sections {
    fn find(apk: &[u8]) -> Result<Self, String> {
        let last = apk.len().checked_sub(22).ok_or("the file is shorter than an end record")?;
        let is_end = |at: &usize| {
            let comment = u16::from_le_bytes([apk[at + 20], apk[at + 21]]);
            apk[*at..].starts_with(b"PK\x05\x06") && at + 22 + usize::from(comment) == apk.len()
        };
        let end =
            (last.saturating_sub(0xffff)..=last).rev().find(is_end).ok_or("no end record at the end")?;
        let at = Fields(&apk[end + 16..]).u32().map_or(usize::MAX, |at| at as usize);
        if at > end {
            Err("the directory is behind its end".to_owned())
        } else {
            Ok(Self { directory: at, end })
        }
    }

    /// Returns where the signing block starts, and its pairs.
    fn block<'a>(&self, apk: &'a [u8]) -> Option<(usize, Fields<'a>)> {
        let size_at = self.directory.checked_sub(24)?;
        let size = Fields(&apk[size_at..]).u64()?;
        let at = self.directory.checked_sub(size.checked_add(8)?)?;
        (Fields(&apk[at..]).u64()? == size).then_some((at, Fields(apk.get(at + 8..size_at)?)))
    }

    /// Returns the digest of all but the block, with an end record that names the block's offset.
    fn digest(&self, apk: &[u8], block_at: usize) -> [u8; 32] {
        let mut end = apk[self.end..].to_vec();
        end[16..20].copy_from_slice(&(block_at as u32).to_le_bytes());
        let sections = [&apk[..block_at], &apk[self.directory..self.end], &end];
        let chunks: Vec<&[u8]> = sections.into_iter().flat_map(|section| section.chunks(1 << 20)).collect();
        let mut top = Sha256::new_with_prefix([0x5a]);
        top.update((chunks.len() as u32).to_le_bytes());
        for chunk in chunks {
            let length = (chunk.len() as u32).to_le_bytes();
            top.update(Sha256::digest([&[0xa5], &length[..], chunk].concat()));
        }
        top.finalize().into()
    }
}

/// The rest of a value in the signing block.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take(8)?.try_into().ok()?)).ok()
    }

    fn prefixed(&mut self) -> Option<Self> {
        let length = self.u32()? as usize;
        self.take(length).map(Fields)
    }

    fn pair(&mut self) -> Option<Self> {
        let length = self.u64()?;
        self.take(length).map(Fields)
    }

    fn sdk(&mut self, scheme: &str) -> Option<Option<(u32, u32)>> {
        Some(if scheme == "v3" { Some((self.u32()?, self.u32()?)) } else { None })
    }

    /// Returns the value of `algorithm` in a list of pairs.
    fn find(mut self, algorithm: u32) -> Option<&'a [u8]> {
        while !self.0.is_empty() {
            let mut pair = self.prefixed()?;
            if pair.u32()? == algorithm {
                return Some(pair.prefixed()?.0);
            }
        }
        None
    }

    /// Verifies this signer, and tells whether it says that there is a v3 signature. `None` if it is damaged.
    fn verified(mut self, scheme: &'static str, contents: &[u8]) -> Option<Result<(Verified, bool), String>> {
        let wrong = |what: &str| Some(Err(format!("the {scheme} signature is wrong: {what}")));
        let mut signed = self.prefixed()?;
        let message = signed.0;
        let sdk = self.sdk(scheme)?;
        let (signatures, public_key) = (self.prefixed()?, self.prefixed()?.0);
        let (digests, mut certificates) = (signed.prefixed()?, signed.prefixed()?);
        if signed.sdk(scheme)? != sdk {
            return wrong("the signed API levels differ from those that are not signed");
        }
        let mut attributes = signed.prefixed()?;
        let certificate = certificates.prefixed()?.0;
        let Some(key) = Key::read(public_key) else { return wrong("its public key is of an unknown kind") };
        let algorithm = if matches!(key, Key::P256(_)) { 0x0201 } else { 0x0103 };
        if !signatures.find(algorithm).is_some_and(|signature| key.verifies(message, signature)) {
            return wrong("the signed data was changed");
        }
        if !certificate.windows(public_key.len()).any(|part| part == public_key) {
            return wrong("its public key differs from the certificate's");
        }
        if digests.find(algorithm) != Some(contents) {
            return wrong("the contents of the APK were changed");
        }
        let mut names_v3 = false;
        while !attributes.0.is_empty() {
            let mut attribute = attributes.prefixed()?;
            names_v3 |= attribute.u32()? == 0xbeef_f00d && attribute.u32()? == 3;
        }
        let certificate_digest = Sha256::digest(certificate).into();
        Some(Ok((Verified { scheme, certificate_digest, sdk }, names_v3)))
    }
}

enum Key {
    P256(p256::ecdsa::VerifyingKey),
    Rsa(pkcs1v15::VerifyingKey<Sha256>),
}

impl Key {
    /// Reads a `SubjectPublicKeyInfo`.
    fn read(der: &[u8]) -> Option<Self> {
        let mut fields = value(&mut &*der)?;
        let algorithm = value(&mut fields)?;
        let key = value(&mut fields)?.strip_prefix(&[0])?;
        if algorithm.starts_with(b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01") {
            return p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok().map(Self::P256);
        }
        let mut numbers = value(&mut &*key)?;
        let [modulus, exponent] =
            [value(&mut numbers)?, value(&mut numbers)?].map(BoxedUint::from_be_slice_vartime);
        Some(Self::Rsa(pkcs1v15::VerifyingKey::new(rsa::PublicKey::new(modulus, exponent).ok()?)))
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::P256(key) => {
                let signature = p256::ecdsa::Signature::from_der(signature);
                signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
            Self::Rsa(key) => {
                let signature = pkcs1v15::Signature::try_from(signature);
                signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
        }
    }
}

/// Returns the contents of the next DER value.
fn value<'a>(der: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&[_, first], rest) = der.split_first_chunk()?;
    let long = if first < 0x80 { 0 } else { usize::from(first - 0x80) };
    let (length, rest) = rest.split_at_checked(long)?;
    let long_length = length.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    let length = if first < 0x80 { first.into() } else { long_length };
    let (contents, rest) = rest.split_at_checked(length)?;
    *der = rest;
    Some(contents)
}
