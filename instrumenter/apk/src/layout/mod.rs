//! The zip file of an APK: its entries, where their bytes lie, and a check of both.
//!
//! ```text
//! bytes -> read -> Entry... -> edit -> lay_out -> bytes -> sign
//!                                                   `-> check
//! ```
//!
//! An APK differs from other zip files in what Android demands of it:
//!
//! * Stored entries start at a multiple of 4, because Android maps them into memory; stored libraries at a multiple of
//!   16,384, the largest page size of a device. The local extra field 0xD935 holds the padding and the multiple, so
//!   that `apksigner` preserves it.
//! * `resources.arsc` must be stored if the app targets Android 11 (API 30) or later, and libraries must be stored if
//!   the manifest sets `extractNativeLibs` to false.
//! * A name must be UTF-8 without NUL and must not occur twice: Android refuses the APK otherwise, and so does
//!   [`lay_out`]. Other names are kept byte for byte, also those with `..`, which Android accepts in an APK.
//! * No 64-bit sizes, which old systems do not read, and no data descriptors.

mod entry;
mod read;
pub(crate) mod sections;
mod write;

pub use entry::{Data, Entry, is_of_signature};
pub use read::read;
pub(crate) use write::lay_out_all;
pub use write::{Error, Options, lay_out};
pub use zip_archive::{DEFLATED, Malformed, STORED, Unreadable};

/// The most bytes to which entries of one package are inflated: those that are edited together, those that must be stored
/// together, and each that is digested. A megabyte of deflated zeros inflates to 1 GiB, which no app's code or libraries have.
pub const MAX_INFLATED: u64 = 1 << 30;

/// The multiple at which a stored entry of this name starts, in bytes.
pub(crate) fn multiple(name: &[u8]) -> usize {
    if is_library(name) { 16_384 } else { 4 }
}

/// Returns whether Android loads the entry of this name as a library.
pub(crate) fn is_library(name: &[u8]) -> bool {
    name.starts_with(b"lib/") && name.ends_with(b".so")
}

/// The compiled resources, which Android maps into memory.
pub(crate) const RESOURCES: &[u8] = b"resources.arsc";
