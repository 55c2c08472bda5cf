//! Signatures of an APK: JAR signature (v1) and APK Signature Scheme v2 and v3.
//!
//! ```text
//! entries -> v1 (below API 24) -> layout -> v2 and v3 -> bytes
//! bytes -> find_signers: who signed it
//! ```
//!
//! Android 9 (API 28) and later check v3, Android 7 (API 24) and later v2, and older ones v1. All use SHA-256, with ECDSA on
//! P-256 or with RSA (PKCS#1 v1.5). ECDSA has the deterministic nonce of RFC 6979, and this RSA has none: the same APK and
//! key give the same bytes. The schemes are those of
//! source.android.com ("APK Signature Scheme v2", "… v3"), the JAR signature that of the JAR file specification.

mod archive;
mod block;
mod certificate;
mod der;
mod digest;
mod error;
mod find;
pub mod key;
mod pem;
mod private_key;
mod public_key;
mod scheme;
mod v1;

use std::fmt;

pub use archive::{sign_archive, sign_entries};
pub use error::{Error, KeyError};
pub use find::{FoundSigner, find_signers};
pub use key::Identity;

/// A signature scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// JAR signature.
    V1,
    /// APK Signature Scheme v2.
    V2,
    /// APK Signature Scheme v3.
    V3,
    /// APK Signature Scheme v3.1.
    V31,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::V31 => "v3.1",
        })
    }
}
