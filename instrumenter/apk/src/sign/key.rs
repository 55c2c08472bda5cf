//! Signing keys: a generated debug key that is kept in a file, or a given key.
//!
//! A key is RSA, or EC on P-256, as PEM or DER, with its X.509 certificate in the same PEM file or in another one.
//! Keystores and encrypted keys are refused with the command that converts them.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use der::Tag;

use super::certificate::{self, Certificate};
use super::der::Reader;
use super::digest::sha256;
use super::private_key::{PrivateKey, Refused};
use super::{KeyError, pem};

/// The largest key or certificate file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A private key with its certificates. Debug output does not show the key.
pub struct Identity {
    pub(crate) key: PrivateKey,
    /// In DER; the first one is the key's.
    certificates: Vec<Vec<u8>>,
    /// That of the certificate, in DER.
    pub(crate) public_key: Vec<u8>,
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
        Self::self_signed(PrivateKey::generate()?, now)
    }

    /// Returns a key of P-256 with a certificate that it signs itself.
    pub(crate) fn self_signed(key: PrivateKey, now: SystemTime) -> Result<Self, KeyError> {
        let public_key = key.public_key();
        let sign = |message: &[u8]| key.sign(message).map_err(|error| KeyError::Random(error.to_string()));
        let certificate = certificate::self_signed(&public_key, now, sign)?;
        Ok(Self { key, certificates: vec![certificate], public_key })
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
                if create(path, identity.to_pem().unwrap_or_default().as_bytes())? {
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
        let own = certificates.iter().enumerate().find_map(|(place, der)| {
            let key = Certificate::read(der)?.public_key;
            private.is_half_of(key).then(|| (place, key.to_vec()))
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
        Certificate::read(self.certificate()).unwrap_or_default()
    }

    /// Returns private key and certificates as PEM, as [`read`](Self::read) takes them; `None` if the key was given: there
    /// is a file of it.
    fn to_pem(&self) -> Option<String> {
        let key = pem::encode("PRIVATE KEY", &self.key.to_pkcs8()?);
        let certificates = self.certificates.iter().map(|der| pem::encode("CERTIFICATE", der));
        Some(core::iter::once(key).chain(certificates).collect())
    }
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
        let what = "it is larger than 1 MiB, so it is no key or certificate";
        return Err(KeyError::Invalid { path: path.into(), what });
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
    if let Some(mut fields) = Reader(bytes).sequence() {
        let label = match fields.any() {
            Some(first) if first.tag == Tag::Integer && first.contents == [3] => return keystore("PKCS#12"),
            Some(first) if first.tag == Tag::Integer && first.contents == [1] => "EC PRIVATE KEY",
            // An RSA key has the same version as PKCS#8, but numbers after it.
            Some(first) if first.tag == Tag::Integer && fields.optional(Tag::Integer).is_some() => {
                "RSA PRIVATE KEY"
            }
            Some(first) if first.tag == Tag::Integer => "PRIVATE KEY",
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
    let (convert, input) = match kind {
        "PKCS#12" => (String::new(), path.display().to_string()),
        _ => {
            let convert = format!(
                "    keytool -importkeystore -srckeystore {} -destkeystore key.p12 -deststoretype pkcs12\n",
                path.display()
            );
            (convert, "key.p12".to_owned())
        }
    };
    KeyError::Keystore { path: path.into(), kind, convert, input }
}

/// Returns the certificates among `sections`.
fn certificates_of(sections: Vec<(String, Vec<u8>)>) -> Vec<Vec<u8>> {
    sections.into_iter().filter(|(label, _)| label == "CERTIFICATE").map(|(_, der)| der).collect()
}

/// Returns the private key among `sections`.
fn find_key(path: &Path, sections: &[(String, Vec<u8>)]) -> Result<PrivateKey, KeyError> {
    let invalid = |what| KeyError::Invalid { path: path.into(), what };
    for (label, der) in sections {
        let key = match label.as_str() {
            "ENCRYPTED PRIVATE KEY" => return Err(KeyError::Encrypted(path.into())),
            "DSA PRIVATE KEY" => Err(Refused::Kind("a DSA key")),
            "PRIVATE KEY" => PrivateKey::from_pkcs8(der),
            "EC PRIVATE KEY" => PrivateKey::from_sec1(der, true),
            "RSA PRIVATE KEY" => PrivateKey::from_pkcs1(der),
            _ => continue,
        };
        return key.map_err(|refused| match refused {
            Refused::Kind(kind) => KeyError::Algorithm { path: path.into(), kind },
            Refused::Damaged(what) => invalid(what),
        });
    }
    Err(invalid("it has no private key"))
}

#[cfg(test)]
mod tests;
