//! Zip archives, as jars, aars, APKs and bug reports are: the directory parsed and checked, headers written, entries inflated and deflated.
//! It knows nothing about the contents of entries.
//!
//! ```text
//!   bytes -> Directory { Entry... } -> Inflater -> contents
//!   file  -> Listing -> Listed... -> the position of its data
//!   Label + Stored -> push_local, data, push_central, push_end
//! ```
//!
//! The feature `codec` brings `Inflater` and `Deflater`, and with them libdeflate, which is written in C. The exporter does without it:
//! it is also built for WebAssembly, and inflates while it reads.
//!
//! An entry that is not changed is copied as it is: compressed bytes, times, attributes, comments, extra fields and order. What Android
//! demands beyond the format is in the crate `apk`.

#![forbid(unsafe_code)]

#[cfg(feature = "codec")]
mod codec;
mod directory;
mod fields;
mod headers;
mod listing;
mod records;
mod signature;

#[cfg(feature = "codec")]
pub use codec::{Deflater, Inflater, Unreadable, crc32};
pub use directory::{Central, Directory, Entry};
pub use fields::{Extra, ZIP64, u16_at, u32_at, u64_at};
pub use headers::{Label, push_central, push_end, push_local};
pub use listing::{Listed, Listing, Unlisted};
pub use records::{
    Attributes, DEFLATED, DESCRIPTOR, END, LOCAL_LENGTH, Malformed, STORED, Stored, UTF8, end_records,
};
pub use signature::is_signature;

#[cfg(all(test, feature = "codec"))]
mod tests;
