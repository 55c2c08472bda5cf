//! The formats of Android packages: manifests, read and edited; signs of protections that an edited app cannot pass; the
//! layout of an APK's entries, and its signatures; what an App Bundle says about its libraries.
//!
//! Everything works on bytes and names in memory. Only [`sign::key`] opens files: those that keep a signing key.

#![forbid(unsafe_code)]

pub mod bundle;
pub mod layout;
pub mod manifest;
pub mod protection;
mod protobuf;
pub mod sign;
