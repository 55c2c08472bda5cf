//! Elements that an edit inserts.

use super::attribute::Attribute;
use super::value::Value;

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
