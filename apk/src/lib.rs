//! The formats of Android packages: manifests, read and edited, and signs of protections that an edited app cannot pass.
//!
//! Everything works on bytes and names in memory; no file is opened here.

#![forbid(unsafe_code)]

pub mod manifest;
pub mod protection;
