//! Signing keys: a generated debug key that is kept in a file, or a given key.
//!
//! A key is EC on P-256, as PEM or DER: PKCS#8 (`PRIVATE KEY`) or SEC 1 (`EC PRIVATE KEY`), with its X.509 certificate in
//! the same PEM file or in another one. Keystores, encrypted keys and RSA keys are refused with the command that helps.
//! RSA keys are refused because no maintained crate signs with them in constant time (RUSTSEC-2023-0071).

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::elliptic_curve::Generate;

use super::KeyError;
use super::certificate::{self, Certificate};
use super::der::{CONTEXT_0, INTEGER, OCTET_STRING, OID, Reader, SEQUENCE, oid, unsigned, value};
use super::digest::sha256;
use super::pem;

/// The largest key or certificate file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A private key with its certificates. Debug output does not show the key.
pub struct Identity {
    key: SigningKey,
    /// In DER; the first one is the key's.
    certificates: Vec<Vec<u8>>,
    /// That of the certificate, in DER.
    public_key: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificate_digest", &self.certificate_digest())
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// Generates a key, with a certificate that is valid for 30 years from the day of `now`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate(now: SystemTime) -> Result<Self, KeyError> {
        let key = SigningKey::try_generate().map_err(|error| KeyError::Random(error.to_string()))?;
        Ok(Self::self_signed(key, now))
    }

    pub(crate) fn self_signed(key: SigningKey, now: SystemTime) -> Self {
        let public_key = public_key(&key);
        let certificate = certificate::self_signed(&public_key, now, |message| sign(&key, message));
        Self { key, certificates: vec![certificate], public_key }
    }

    /// Reads the debug key of `path`. If there is no such file, generates a key and creates the file, readable by its owner
    /// only; of several programs that do so at once, all get the same key. Returns whether the file was created.
    ///
    /// # Errors
    /// The file exists and has no key, or cannot be created.
    pub fn debug(path: &Path, now: SystemTime) -> Result<(Self, bool), KeyError> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok((Self::read(path, None)?, false)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let identity = Self::generate(now)?;
                if create(path, identity.to_pem().as_bytes())? {
                    return Ok((identity, true));
                }
                Ok((Self::read(path, None)?, false))
            }
            Err(source) => Err(KeyError::Read { path: path.into(), source }),
        }
    }

    /// Reads a key from `key`, and its certificate from `certificate`, or from `key` too.
    ///
    /// # Errors
    /// A file cannot be read, is of a kind that is not supported, or has no certificate of this key.
    pub fn read(key: &Path, certificate: Option<&Path>) -> Result<Self, KeyError> {
        let key_bytes = read_file(key)?;
        let sections = sections(key, &key_bytes)?;
        let private = find_key(key, &sections)?;
        let (path, mut certificates) = match certificate {
            Some(path) => (path, certificates_of(self::sections(path, &read_file(path)?)?)),
            None => (key, certificates_of(sections)),
        };
        let invalid = |what| KeyError::Invalid { path: path.into(), what };
        // Keys and not bytes are compared, since a point has two encodings.
        let is_own = |key: &[u8]| {
            let key = certificate::point(key).and_then(|point| VerifyingKey::from_sec1_bytes(point).ok());
            key.as_ref() == Some(private.verifying_key())
        };
        let own = certificates.iter().enumerate().find_map(|(place, der)| {
            let key = Certificate::read(der)?.public_key;
            is_own(key).then(|| (place, key.to_vec()))
        });
        let (own, public_key) = own.ok_or_else(|| match (certificates.is_empty(), certificate) {
            (true, None) => invalid("it has no certificate. Give the file of the certificate too"),
            (true, Some(_)) => invalid("it has no certificate"),
            (false, _) => invalid("it has no certificate of the given private key"),
        })?;
        // Android compares the first certificate with the key.
        certificates.get_mut(..=own).unwrap_or_default().rotate_right(1);
        Ok(Self { key: private, certificates, public_key })
    }

    /// Returns the certificates in DER; the first one is the key's.
    #[must_use]
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    /// Returns the SHA-256 of the certificate, by which Android and `apksigner` identify a signer.
    #[must_use]
    pub fn certificate_digest(&self) -> [u8; 32] {
        sha256(self.certificate())
    }

    fn certificate(&self) -> &[u8] {
        self.certificates.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the fields of the certificate, which was readable when this was created.
    pub(crate) fn certificate_fields(&self) -> Certificate<'_> {
        Certificate::read(self.certificate()).unwrap_or(Certificate {
            serial: &[],
            issuer: &[],
            public_key: &[],
        })
    }

    /// Returns the public key in DER.
    pub(crate) fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Returns the signature of `message` (ECDSA with SHA-256) in DER.
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        sign(&self.key, message)
    }

    /// Returns private key and certificates as PEM, as [`read`](Self::read) takes them.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let point = self.key.verifying_key().to_sec1_point(false);
        let public = value(0xa1, &[&value(super::der::BIT_STRING, &[&[0], point.as_ref()])]);
        let secret = value(OCTET_STRING, &[&self.key.to_bytes()]);
        let key = value(SEQUENCE, &[&unsigned(&[1]), &secret, &public]);
        let algorithm = value(SEQUENCE, &[&value(OID, &[oid::EC_KEY]), &value(OID, &[oid::P256])]);
        let key = value(SEQUENCE, &[&unsigned(&[0]), &algorithm, &value(OCTET_STRING, &[&key])]);
        let certificates = self.certificates.iter().map(|der| pem::encode("CERTIFICATE", der));
        core::iter::once(pem::encode("PRIVATE KEY", &key)).chain(certificates).collect()
    }
}

fn sign(key: &SigningKey, message: &[u8]) -> Vec<u8> {
    let signature: Signature = key.sign(message);
    let (r, s) = signature.split_bytes();
    value(SEQUENCE, &[&unsigned(&r), &unsigned(&s)])
}

fn public_key(key: &SigningKey) -> Vec<u8> {
    certificate::public_key(key.verifying_key().to_sec1_point(false).as_ref())
}

/// Writes a new file, so that it appears completely or not at all. Returns whether this call has created it.
fn create(path: &Path, contents: &[u8]) -> Result<bool, KeyError> {
    let failed = |source| KeyError::Write { path: path.into(), source };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let temporary = write_temporary(path, contents).map_err(failed)?;
    // A link does not replace a file that another program has created meanwhile, unlike a rename.
    let created = match fs::hard_link(&temporary, path) {
        Ok(()) => Ok(true),
        Err(_) if fs::symlink_metadata(path).is_ok() => Ok(false),
        // A file system without hard links.
        Err(_) => fs::rename(&temporary, path).map(|()| true),
    };
    // Not there after a rename.
    let _ = fs::remove_file(&temporary);
    created.map_err(failed)
}

/// Writes a file beside `path` and returns its path.
fn write_temporary(path: &Path, contents: &[u8]) -> io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut number = 0;
    loop {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let mut file = match options.open(&temporary) {
            // Another thread's, or left by a program that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                number += 1;
                continue;
            }
            opened => opened?,
        };
        if let Err(error) = file.write_all(contents).and_then(|()| file.sync_all()) {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        return Ok(temporary);
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, KeyError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|source| KeyError::Read { path: path.into(), source })?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(KeyError::Invalid {
            path: path.into(),
            what: "it is larger than 1 MiB, so it is no key or certificate",
        });
    }
    Ok(bytes)
}

/// Returns the sections of a file: those of PEM, or the whole file if it is DER, with the label of what it looks like.
fn sections(path: &Path, bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, KeyError> {
    let keystore = |kind| Err(keystore(path, kind));
    match bytes {
        [0xfe, 0xed, 0xfe, 0xed, ..] => return keystore("JKS"),
        [0xce, 0xce, 0xce, 0xce, ..] => return keystore("JCEKS"),
        _ => {}
    }
    if let Some(mut fields) = Reader(bytes).inside(SEQUENCE) {
        let label = match fields.any() {
            Some(first) if first.tag == INTEGER && first.contents == [3] => return keystore("PKCS#12"),
            Some(first) if first.tag == INTEGER && first.contents == [1] => "EC PRIVATE KEY",
            // An RSA key has the same version as PKCS#8, but numbers after it.
            Some(first) if first.tag == INTEGER && fields.optional(INTEGER).is_some() => "RSA PRIVATE KEY",
            Some(first) if first.tag == INTEGER => "PRIVATE KEY",
            _ if Certificate::read(bytes).is_some() => "CERTIFICATE",
            _ => "ENCRYPTED PRIVATE KEY",
        };
        return Ok(vec![(label.into(), bytes.to_vec())]);
    }
    let invalid = |what| KeyError::Invalid { path: path.into(), what };
    let text = core::str::from_utf8(bytes).map_err(|_| invalid("it is neither PEM nor DER"))?;
    let decoded = pem::sections(text).into_iter().map(|(label, der)| Some((label.to_owned(), der?)));
    let sections: Option<Vec<_>> = decoded.collect();
    sections.ok_or_else(|| invalid("its base64 is damaged"))
}

fn keystore(path: &Path, kind: &'static str) -> KeyError {
    if kind == "PKCS#12" {
        return KeyError::Keystore {
            path: path.into(),
            kind,
            convert: String::new(),
            input: path.display().to_string(),
        };
    }
    let convert = format!(
        "    keytool -importkeystore -srckeystore {} -destkeystore key.p12 -deststoretype pkcs12\n",
        path.display()
    );
    KeyError::Keystore { path: path.into(), kind, convert, input: "key.p12".into() }
}

/// Returns the certificates among `sections`.
fn certificates_of(sections: Vec<(String, Vec<u8>)>) -> Vec<Vec<u8>> {
    sections.into_iter().filter(|(label, _)| label == "CERTIFICATE").map(|(_, der)| der).collect()
}

/// Returns the private key among `sections`.
fn find_key(path: &Path, sections: &[(String, Vec<u8>)]) -> Result<SigningKey, KeyError> {
    let algorithm = |kind| KeyError::Algorithm { path: PathBuf::from(path), kind };
    let invalid = |what| KeyError::Invalid { path: path.into(), what };
    for (label, der) in sections {
        let secret = match label.as_str() {
            "ENCRYPTED PRIVATE KEY" => return Err(KeyError::Encrypted { path: path.into() }),
            "RSA PRIVATE KEY" => return Err(algorithm("an RSA key")),
            "DSA PRIVATE KEY" => return Err(algorithm("a DSA key")),
            "PRIVATE KEY" => match pkcs8_secret(der) {
                Ok(secret) => secret,
                Err(Some(kind)) => return Err(algorithm(kind)),
                Err(None) => return Err(invalid("its private key is damaged")),
            },
            "EC PRIVATE KEY" => match sec1_secret(der, true) {
                Ok(secret) => secret,
                Err(Some(kind)) => return Err(algorithm(kind)),
                Err(None) => return Err(invalid("its private key is damaged")),
            },
            _ => continue,
        };
        return SigningKey::from_slice(secret)
            .map_err(|_| invalid("its private key is not a number of P-256"));
    }
    Err(invalid("it has no private key"))
}

/// Why a key cannot be used: the kind of a key that is not supported, or `None` if it is damaged.
type Refused = Option<&'static str>;

/// Returns the secret number of a PKCS#8 key (RFC 5208).
fn pkcs8_secret(der: &[u8]) -> Result<&[u8], Refused> {
    let mut fields = Reader(der).inside(SEQUENCE).ok_or(None)?;
    let _version = fields.optional(INTEGER).ok_or(None)?;
    let mut algorithm = fields.inside(SEQUENCE).ok_or(None)?;
    let id = algorithm.optional(OID).ok_or(None)?.contents;
    if id == oid::RSA_KEY {
        return Err(Some("an RSA key"));
    }
    if id != oid::EC_KEY {
        return Err(Some("a key that is not EC"));
    }
    if algorithm.optional(OID).is_none_or(|curve| curve.contents != oid::P256) {
        return Err(Some("an EC key on another curve"));
    }
    sec1_secret(fields.optional(OCTET_STRING).ok_or(None)?.contents, false)
}

/// Returns the secret number of a SEC 1 key (RFC 5915), which must name its curve if nothing else does.
fn sec1_secret(der: &[u8], names_curve: bool) -> Result<&[u8], Refused> {
    let mut fields = Reader(der).inside(SEQUENCE).ok_or(None)?;
    let _version = fields.optional(INTEGER).ok_or(None)?;
    let secret = fields.optional(OCTET_STRING).ok_or(None)?.contents;
    let curve = fields.inside(CONTEXT_0).and_then(|mut curve| curve.optional(OID));
    match curve {
        Some(curve) if curve.contents != oid::P256 => Err(Some("an EC key on another curve")),
        None if names_curve => Err(None),
        _ => Ok(secret),
    }
}

#[cfg(test)]
mod tests;
