//! The manifest of an app: binary XML in an APK, protobuf in an App Bundle.
//!
//! ```text
//!   APK: bytes -> axml::Document  \                       / facts: package, versions, components ...
//!                                   document::Document  --
//!   AAB: bytes -> proto::Document /                       \ edit: merge, debuggable, minSdkVersion ...
//! ```
//!
//! Both documents keep the bytes they were read from and change only what an edit names, so a manifest that is not edited is
//! written as it was read.

mod addition;
pub mod attribute;
pub mod axml;
mod document;
mod edit;
mod element;
mod error;
mod facts;
pub mod proto;
#[cfg(test)]
mod tests;
mod value;

pub use addition::{Addition, AdditionError};
pub use document::{Document, Edit, Place};
pub use edit::Merged;
pub use element::{NewAttribute, NewElement};
pub use error::{Error, Malformed};
pub use facts::{Component, ComponentKind, Facts};
pub use value::Value;

/// The largest manifest that is read, in bytes. Those of the largest apps have a few hundred thousand.
pub const MAX_SIZE: usize = 16 << 20;

/// The deepest nesting of elements that is read. Android's own reach 6.
pub const MAX_DEPTH: usize = 256;

/// The manifest of an APK, of a split, or of a module of an App Bundle.
#[derive(Clone, Debug)]
pub struct Manifest {
    form: Form,
    facts: Facts,
}

#[derive(Clone, Debug)]
enum Form {
    Binary(Box<axml::Document>),
    Protobuf(proto::Document),
}

impl Form {
    fn document(&self) -> &dyn Document {
        match self {
            Self::Binary(document) => &**document,
            Self::Protobuf(document) => document,
        }
    }

    fn document_mut(&mut self) -> &mut dyn Edit {
        match self {
            Self::Binary(document) => &mut **document,
            Self::Protobuf(document) => document,
        }
    }
}

impl Manifest {
    /// Reads `AndroidManifest.xml` of an APK: binary XML.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] names the offset; [`Error::NoManifest`] if the root is another element or has no package.
    pub fn read_binary(bytes: &[u8]) -> Result<Self, Error> {
        Self::new(Form::Binary(Box::new(axml::Document::read(bytes)?)))
    }

    /// Reads `manifest/AndroidManifest.xml` of a module of an App Bundle: the message `aapt.pb.XmlNode`.
    ///
    /// # Errors
    ///
    /// As those of [`Manifest::read_binary`].
    pub fn read_protobuf(bytes: &[u8]) -> Result<Self, Error> {
        Self::new(Form::Protobuf(proto::Document::read(bytes)?))
    }

    /// Reads either form. Binary XML starts with the chunk type 0x0003, which is no tag of a protobuf message.
    ///
    /// # Errors
    ///
    /// As those of [`Manifest::read_binary`].
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        match bytes {
            [0x03, 0x00, ..] => Self::read_binary(bytes),
            _ => Self::read_protobuf(bytes),
        }
    }

    fn new(form: Form) -> Result<Self, Error> {
        let facts = Facts::of(form.document())?;
        Ok(Self { form, facts })
    }

    /// What the manifest says, with all edits.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The manifest's bytes in the form it was read in; the same as those that were read if there was no edit.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        self.form.document().write()
    }
}
