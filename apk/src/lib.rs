//! The formats of Android packages: the manifest of an APK or an App Bundle, read and edited; the layout of an APK's
//! entries, and its signatures.
//!
//! Everything works on bytes in memory. Only [`sign::key`] opens files: those that keep a signing key.

#![forbid(unsafe_code)]

pub mod layout;
pub mod manifest;
pub mod sign;
