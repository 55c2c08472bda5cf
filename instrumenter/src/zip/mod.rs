//! The zip format, of which jars and aars are: its directory read and checked, its headers written,
//! its entries inflated and deflated. What the entries are is not known here.

pub(crate) mod codec;
pub(crate) mod directory;
mod fields;
pub(crate) mod headers;
