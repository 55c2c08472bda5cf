//! The zip format of jars and aars: parsing and checking the directory, writing headers, inflating and deflating
//! entries. It knows nothing about the content of entries.

pub(crate) mod codec;
pub(crate) mod directory;
mod fields;
pub(crate) mod headers;
