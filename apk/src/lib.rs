<<<<<<< HEAD
//! The formats of Android packages: manifests, read and edited; the layout of entries, and signatures; signs of protections
//! that an edited app cannot pass.
=======
//! The formats of Android packages: manifests, read and edited; signs of protections that an edited app cannot pass; the
//! layout of an APK's entries, and its signatures.
>>>>>>> 2fa46ef2ec878e3f643f533f885506a043580961
//!
//! Everything works on bytes and names in memory. Only [`sign::key`] opens files: those that keep a signing key.

#![forbid(unsafe_code)]

pub mod layout;
pub mod manifest;
pub mod protection;
pub mod sign;
