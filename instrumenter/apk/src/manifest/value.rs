//! Values of attributes.

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
