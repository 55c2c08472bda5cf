//! Values of attributes, and elements that an edit inserts.

use super::attribute::Attribute;

/// The value of an attribute, in the types that Android's tools compile it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer that was written in decimal.
    Integer(i32),
    /// Flags, or an integer that was written in hexadecimal.
    Hex(u32),
    /// `true` or `false`.
    Boolean(bool),
    /// A resource, such as `@string/name`.
    Reference(u32),
    /// A colour, a dimension, an attribute of the theme ...: `dataType` and `data` of `Res_value`.
    Other {
        /// `dataType`; 0 in an App Bundle, whose type has no number.
        kind: u8,
        /// `data`.
        data: u32,
    },
}

impl Value {
    /// The string, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number: also of a string of decimal digits, which old tools left as such.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some((*value).into()),
            Self::Hex(value) => Some((*value).into()),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The truth value: any number but 0 counts as true, as in Android's `TypedArray.getBoolean`.
    #[must_use]
    pub fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::Integer(value) => Some(*value != 0),
            Self::Hex(value) => Some(*value != 0),
            Self::Text(text) if text == "true" => Some(true),
            Self::Text(text) if text == "false" => Some(false),
            _ => None,
        }
    }
}

/// An attribute of the namespace `android` to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAttribute {
    /// Name and resource id.
    pub attribute: Attribute,
    /// The value.
    pub value: Value,
    /// How a value that is no string stands in XML, which the manifest of an App Bundle holds as well.
    pub text: String,
}

impl NewAttribute {
    /// A string.
    #[must_use]
    pub fn text(attribute: Attribute, text: &str) -> Self {
        Self { attribute, value: Value::Text(text.to_owned()), text: text.to_owned() }
    }

    /// A truth value.
    #[must_use]
    pub fn boolean(attribute: Attribute, value: bool) -> Self {
        Self { attribute, value: Value::Boolean(value), text: value.to_string() }
    }

    /// A decimal number.
    #[must_use]
    pub fn integer(attribute: Attribute, value: i32) -> Self {
        Self { attribute, value: Value::Integer(value), text: value.to_string() }
    }
}

/// An element to insert, without a namespace of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewElement {
    /// The tag, such as `provider`.
    pub name: String,
    /// In any order; they are written by ascending resource id.
    pub attributes: Vec<NewAttribute>,
    /// In order.
    pub children: Vec<NewElement>,
}

impl NewElement {
    /// The attributes by ascending resource id, the order in which the system looks them up.
    pub(crate) fn sorted_attributes(&self) -> Vec<&NewAttribute> {
        let mut sorted: Vec<_> = self.attributes.iter().collect();
        sorted.sort_by_key(|new| new.attribute.id);
        sorted
    }

    /// The string value of an attribute.
    pub(crate) fn text_of(&self, attribute: Attribute) -> Option<&str> {
        self.attributes.iter().find(|new| new.attribute == attribute)?.value.text()
    }
}
