//! The formats of Android packages: manifests, read and edited; the layout of entries, and signatures; signs of protections
//! that an edited app cannot pass.
//!
//! Everything works on bytes and names in memory. Only [`sign::key`] opens files: those that keep a signing key.

#![forbid(unsafe_code)]

pub mod layout;
pub mod manifest;
pub mod protection;
pub mod sign;
