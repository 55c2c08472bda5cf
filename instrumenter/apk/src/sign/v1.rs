//! The JAR signature, with which Android below 7 checks an APK.
//!
//! ```text
//! META-INF/MANIFEST.MF   digest of each entry
//! META-INF/ANRSCOPE.SF   digest of the manifest and of each of its sections
//! META-INF/ANRSCOPE.EC   PKCS#7: signature of the .SF file, and certificates; ANRSCOPE.RSA for an RSA key
//! ```

use base64ct::{Base64, Encoding as _};
use der::Tag;
use der::asn1::ObjectIdentifier;
use rayon::prelude::*;

use super::certificate::Certificate;
use super::der::{CONTEXT_0, CONTEXT_1, Reader, identifier, oid, sequence, unsigned, value};
use super::digest::sha256;
use super::{Error, Identity};
use crate::layout::{Entry, MAX_INFLATED};

/// A line of a manifest has at most this many bytes, without its line break.
const LINE: usize = 70;

/// Appends an attribute, on several lines if it is long.
fn push_attribute(name: &str, value: &[u8], out: &mut Vec<u8>) {
    let attribute = [name.as_bytes(), b": ", value].concat();
    let (first, rest) = attribute.split_at_checked(LINE).unwrap_or((&attribute, &[]));
    out.extend_from_slice(first);
    // A continued line starts with a space.
    for line in rest.chunks(LINE - 1) {
        out.extend_from_slice(b"\r\n ");
        out.extend_from_slice(line);
    }
    out.extend_from_slice(b"\r\n");
}

/// Returns a section about the entry `name`.
fn section(name: &[u8], digest: &[u8; 32]) -> Vec<u8> {
    let mut out = Vec::new();
    push_attribute("Name", name, &mut out);
    push_attribute("SHA-256-Digest", Base64::encode_string(digest).as_bytes(), &mut out);
    out.extend_from_slice(b"\r\n");
    out
}

/// Returns the files of the signature of `entries`. Directories are not covered.
pub(crate) fn sign<'a>(entries: &[&Entry<'_>], identity: &Identity) -> Result<Vec<Entry<'a>>, Error> {
    let files = entries.par_iter().filter(|entry| !entry.name.ends_with(b"/"));
    let sections = files.map(|entry| {
        let name = entry.name.as_ref();
        let failed = |reason: String| Error::Entry { name: entry.display_name(), reason };
        if name.is_empty() || name.iter().any(|byte| b"\r\n\0".contains(byte)) {
            return Err(failed("its name is empty or has a line break".to_owned()));
        }
        let contents = entry.contents(MAX_INFLATED).map_err(|error| failed(error.to_string()))?;
        let section = section(name, &sha256(&contents));
        Ok((name, sha256(&section), section))
    });
    let sections = sections.collect::<Result<Vec<_>, Error>>()?;
    let mut manifest = b"Manifest-Version: 1.0\r\nCreated-By: anrscope\r\n\r\n".to_vec();
    sections.iter().for_each(|(_, _, section)| manifest.extend_from_slice(section));
    let mut file = b"Signature-Version: 1.0\r\nCreated-By: anrscope\r\n".to_vec();
    let digest = Base64::encode_string(&sha256(&manifest));
    push_attribute("SHA-256-Digest-Manifest", digest.as_bytes(), &mut file);
    // Android 7 and later refuse an APK whose v2 and v3 signatures were removed.
    file.extend_from_slice(b"X-Android-APK-Signed: 2, 3\r\n\r\n");
    for (name, digest, _) in &sections {
        file.extend_from_slice(&section(name, digest));
    }
    let signature = pkcs7(&file, identity)?;
    let is_rsa = identity.key.key_oid() == oid::RSA_KEY;
    let name: &[u8] = if is_rsa { b"META-INF/ANRSCOPE.RSA" } else { b"META-INF/ANRSCOPE.EC" };
    Ok(vec![
        Entry::new(b"META-INF/MANIFEST.MF".as_slice(), manifest, true),
        Entry::new(b"META-INF/ANRSCOPE.SF".as_slice(), file, true),
        Entry::new(name, signature, true),
    ])
}

/// Returns a detached PKCS#7 signature of `message` (RFC 2315), without signed attributes.
fn pkcs7(message: &[u8], identity: &Identity) -> Result<Vec<u8>, Error> {
    let algorithm = |id: ObjectIdentifier| sequence(&[&identifier(id), &value(Tag::Null, &[])]);
    let one = unsigned(&[1]);
    let certificate = identity.certificate_fields();
    let signer = sequence(&[
        &one,
        &sequence(&[certificate.issuer, certificate.serial]),
        &algorithm(oid::SHA256),
        // The key's algorithm, not the signature's: Android 4.3 and 4.4 know no other.
        &algorithm(identity.key.key_oid()),
        &value(Tag::OctetString, &[&identity.key.sign(message)?]),
    ]);
    let certificates: Vec<&[u8]> = identity.certificates().iter().map(Vec::as_slice).collect();
    let signed = sequence(&[
        &one,
        &value(Tag::Set, &[&algorithm(oid::SHA256)]),
        &sequence(&[&identifier(oid::PKCS7_DATA)]),
        &value(CONTEXT_0, &certificates),
        &value(Tag::Set, &[&signer]),
    ]);
    Ok(sequence(&[&identifier(oid::PKCS7_SIGNED), &value(CONTEXT_0, &[&signed])]))
}

/// Returns the certificate of the first signer of a PKCS#7 signature, or its first certificate if it has the signer's
/// not. `None` if it is damaged.
pub(crate) fn signer_certificate(pkcs7: &[u8]) -> Option<&[u8]> {
    let mut content = Reader(pkcs7).sequence()?;
    if !content.optional(Tag::ObjectIdentifier)?.is(oid::PKCS7_SIGNED) {
        return None;
    }
    let mut signed = content.inside(CONTEXT_0)?.sequence()?;
    let _version = signed.optional(Tag::Integer)?;
    let _digests = signed.inside(Tag::Set)?;
    let _content = signed.sequence()?;
    let mut certificates = signed.inside(CONTEXT_0)?;
    // Revocation lists.
    let _ = signed.optional(CONTEXT_1);
    let mut signer = signed.inside(Tag::Set)?.sequence()?;
    let _version = signer.optional(Tag::Integer)?;
    let mut issuer = signer.sequence()?;
    let (issuer, serial) = (issuer.optional(Tag::Sequence)?.whole, issuer.optional(Tag::Integer)?.whole);
    let mut first = None;
    while let Some(certificate) = certificates.optional(Tag::Sequence) {
        let fields = Certificate::read(certificate.whole);
        if fields.is_some_and(|fields| fields.issuer == issuer && fields.serial == serial) {
            return Some(certificate.whole);
        }
        first = first.or(Some(certificate.whole));
    }
    first
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::time::SystemTime;

    use proptest::prelude::*;

    use super::{pkcs7, section, sign, signer_certificate};
    use crate::layout::{Data, Entry};
    use crate::sign::Identity;
    use crate::sign::private_key::PrivateKey;

    fn identity(byte: u8) -> Identity {
        Identity::self_signed(PrivateKey::from_secret(&[byte; 32]).unwrap(), SystemTime::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn long_names_are_continued_on_lines_that_start_with_a_space() {
        let name = [b'x'; 200];
        let section = section(&name, &[0; 32]);
        let text = String::from_utf8(section).unwrap();
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(lines.iter().map(|line| line.len()).collect::<Vec<_>>(), [70, 70, 68, 60, 0, 0]);
        let whole: String = text.replace("\r\n ", "");
        assert!(whole.starts_with(&format!("Name: {}\r\n", "x".repeat(200))));
    }

    #[test]
    fn the_manifest_has_the_digests_of_files_and_not_of_directories() {
        let entries = [
            Entry::new(b"a".as_slice(), b"abc".as_slice(), true),
            Entry::new(b"d/".as_slice(), b"".as_slice(), true),
        ];
        let entries: Vec<&Entry<'_>> = entries.iter().collect();
        let files = sign(&entries, &identity(1)).unwrap();
        let Data::New { contents, .. } = &files[0].data else { panic!("not new") };
        let manifest = String::from_utf8_lossy(contents);
        let expected = "Name: a\r\nSHA-256-Digest: ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=\r\n\r\n";
        assert_eq!(manifest.split_once("\r\n\r\n").unwrap().1, expected);
        let Data::New { contents, .. } = &files[1].data else { panic!("not new") };
        assert!(String::from_utf8_lossy(contents).contains("\r\nX-Android-APK-Signed: 2, 3\r\n"));
    }

    #[test]
    fn the_certificate_of_the_signer_is_found_and_not_in_a_truncated_signature() {
        let identity = identity(1);
        let signature = pkcs7(b"x", &identity).unwrap();
        assert_eq!(signer_certificate(&signature), Some(identity.certificates()[0].as_slice()));
        for end in 0..signature.len() {
            assert_eq!(signer_certificate(&signature[..end]), None, "{end}");
        }
    }

    static SIGNATURE: LazyLock<Vec<u8>> = LazyLock::new(|| pkcs7(b"x", &identity(1)).unwrap());

    proptest! {
        #[test]
        fn a_damaged_signature_is_read_within_bounds(at: prop::sample::Index, byte: u8) {
            let mut signature = SIGNATURE.clone();
            *at.get_mut(&mut signature) = byte;
            signer_certificate(&signature);
        }
    }
}
