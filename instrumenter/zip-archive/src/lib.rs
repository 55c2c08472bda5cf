//! Zip archives, as jars, aars and APKs are: the directory parsed and checked, headers written, entries inflated and deflated. It knows
//! nothing about the contents of entries.
//!
//! ```text
//!   bytes -> Directory { Entry... } -> Inflater -> contents
//!   Label + Stored -> push_local, data, push_central, push_end
//! ```
//!
//! An entry that is not changed is copied as it is: compressed bytes, times, attributes, comments, extra fields and order. What Android
//! demands beyond the format is in the crate `apk`.

#![forbid(unsafe_code)]

mod codec;
mod directory;
mod fields;
mod headers;
mod signature;

pub use codec::{Deflater, Inflater, Unreadable, crc32};
pub use directory::{
    Central, DEFLATED, DESCRIPTOR, Directory, END, Entry, LOCAL_LENGTH, Malformed, STORED, UTF8, end_records,
};
pub use fields::{Extra, ZIP64, u16_at, u32_at, u64_at};
pub use headers::{Label, Stored, push_central, push_end, push_local};
pub use signature::is_signature;

#[cfg(test)]
mod tests;
