<<<<<<< HEAD
//! The formats of Android packages: the manifest of an APK or an App Bundle, read and edited; the layout of an APK's
//! entries, and its signatures.
//!
//! Everything works on bytes in memory. Only [`sign::key`] opens files: those that keep a signing key.
=======
//! The formats of Android packages: manifests, read and edited, and signs of protections that an edited app cannot pass.
//!
//! Everything works on bytes and names in memory; no file is opened here.
>>>>>>> 5a7fdd7e83d76f4b2f0ca63951fa8d4482899979

#![forbid(unsafe_code)]

pub mod layout;
pub mod manifest;
<<<<<<< HEAD
pub mod sign;
=======
pub mod protection;
>>>>>>> 5a7fdd7e83d76f4b2f0ca63951fa8d4482899979
