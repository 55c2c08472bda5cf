//! Dex files: read into tables, edited, and written again with every list sorted and every index moved.
//!
//! The format is that of "Dalvik executable format" (source.android.com), versions 035 to 041.
//!
//! ```text
//!   bytes -> read -> Dex { tables, classes { methods { Code } } }
//!                            Code -> code::Body -> edit -> code::Body
//!                    Dex -> write: used items -> sorted tables -> Remap -> code -> sections, map, sums -> bytes
//! ```
//!
//! Indices in a [`Dex`] are those of the file that was read. New items are appended; only the writer sorts, so an edit never
//! moves an index.

#![forbid(unsafe_code)]

pub mod code;
mod decodable;
mod error;
mod find;
mod leb128;
mod lookup;
mod model;
pub mod mutf8;
pub mod read;
mod remap;
mod sha1;
mod split;
mod table;
mod tracing;
mod uses;
mod write;

pub use error::{Limit, Malformed, WriteError};
pub use lookup::Lookup;
pub use model::{
    Annotation, AnnotationSet, Annotations, CallSite, Class, ClassField, ClassMethod, Dex, Field, Handle,
    Method, MethodCode, ParameterSets, Proto, Value, access,
};
pub use remap::Remap;
pub use sha1::sha1;
pub use table::Table;
