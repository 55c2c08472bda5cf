//! Why an APK cannot be signed, or a signature or key cannot be read.

use std::io;
use std::path::PathBuf;

use crate::layout;

/// Why an APK cannot be signed, or its signature is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The zip file is damaged.
    #[error("not a valid APK: {0}")]
    Apk(#[from] layout::Malformed),
    /// The zip file cannot be written.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// An entry that JAR signatures cannot cover.
    #[error("cannot sign entry {name:?} for Android below 7.0: {reason}")]
    Entry {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// SHA-256 and ECDSA in the JAR signature begin with Android 4.3.
    #[error("cannot sign for API {0}: signatures with SHA-256 need a minSdkVersion of at least 18")]
    MinSdk(u32),
    /// The signing block is damaged.
    #[error("the signing block is damaged: {what} at byte {at}")]
    Block {
        /// Offset in the APK, in bytes.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// A signature that is readable and wrong.
    #[error("the {scheme} signature is wrong: {what}")]
    Signature {
        /// The scheme.
        scheme: super::Scheme,
        /// What is wrong.
        what: &'static str,
    },
    /// The system has no random numbers, with which the timing of RSA is hidden.
    #[error("cannot sign: {0}")]
    Sign(String),
    /// The APK would exceed 4 GiB with its signature.
    #[error("the signed APK has more than 4 GiB, which Android does not read")]
    TooLarge,
}

/// Why a signing key cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read {path:?}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {path:?}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The system has no random numbers.
    #[error("cannot generate a key: the system's random numbers fail: {0}")]
    Random(String),
    /// A PKCS#12 or Java keystore.
    #[error(
        "cannot read {path:?}: it is a {kind} keystore. Convert it to PEM (the password of Android Studio's debug.keystore is \
         android):\n{convert}    openssl pkcs12 -in {input} -nodes -out key.pem"
    )]
    Keystore {
        /// The file.
        path: PathBuf,
        /// `PKCS#12`, `JKS` or `JCEKS`.
        kind: &'static str,
        /// The command that converts it to PKCS#12, if it is another kind.
        convert: String,
        /// The PKCS#12 file of the second command.
        input: String,
    },
    /// A key of an algorithm other than RSA and ECDSA on P-256.
    #[error(
        "cannot sign with {path:?}: it holds {kind}, and only RSA keys of 1024 to 8192 bits and EC keys on P-256 are supported. \
         Write an unsigned APK (--unsigned), then sign it with apksigner: \
         apksigner sign --key KEY.pk8 --cert CERT.pem APP.apk"
    )]
    Algorithm {
        /// The file.
        path: PathBuf,
        /// The key, with its article: `a DSA key`.
        kind: &'static str,
    },
    /// The private key is encrypted.
    #[error("cannot read {0:?}: the key is encrypted. Decrypt it: openssl pkcs8 -in {0:?} -out key.pem")]
    Encrypted(PathBuf),
    /// Something else is wrong with the file.
    #[error("cannot read {path:?}: {what}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}
