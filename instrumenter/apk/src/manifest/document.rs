//! The operations that both forms of a manifest have.

use super::attribute::Attribute;
use super::element::{NewAttribute, NewElement};
use super::error::{Error, Malformed};
use super::value::Value;

/// Where elements are inserted. Indices are those of [`Document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// As the first children of this element.
    StartOf(usize),
    /// As siblings directly before this element.
    Before(usize),
}

/// An XML document with elements that are numbered in document order, from 0.
///
/// Inserting moves the numbers of the elements behind the place.
pub trait Document {
    /// The number of elements.
    fn len(&self) -> usize;

    /// True if there is no element.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element around this one; `None` for the root and for an index outside of the document.
    fn parent(&self, element: usize) -> Option<usize>;

    /// True if the element has this tag. Its namespace is not compared, as in Android's parser.
    fn is_named(&self, element: usize, name: &str) -> bool;

    /// The value of an attribute of the namespace `android`.
    ///
    /// # Errors
    ///
    /// A value that cannot be decoded.
    fn android_attribute(&self, element: usize, attribute: Attribute) -> Result<Option<Value>, Malformed>;

    /// The value of an attribute without a namespace.
    ///
    /// # Errors
    ///
    /// A value that cannot be decoded.
    fn plain_attribute(&self, element: usize, name: &str) -> Result<Option<Value>, Malformed>;

    /// The document's bytes.
    fn write(&self) -> Vec<u8>;
}

/// The changes of a [`Document`].
pub trait Edit: Document {
    /// Sets an attribute; a present one keeps its place. An index outside of the document changes nothing.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the document may then hold unused strings, but is valid and otherwise unchanged.
    fn set_attribute(&mut self, element: usize, new: &NewAttribute) -> Result<(), Error>;

    /// Inserts elements in their order. An index outside of the document changes nothing.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the document may then hold unused strings, but is valid and otherwise unchanged.
    fn insert(&mut self, place: Place, elements: &[NewElement]) -> Result<(), Error>;
}
