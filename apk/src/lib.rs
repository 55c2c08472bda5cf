//! The formats of Android packages: the manifest of an APK or an App Bundle, read and edited.
//!
//! Everything works on bytes in memory; no file is opened here.

#![forbid(unsafe_code)]

pub mod manifest;
