//! Enumerations whose values a recording stores as words or numbers.

use std::fmt;

/// A word that stands for no value of an enumeration, as it was read: it may be of a later version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownWord(pub String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown word {:?}: it may be of a later version", self.0)
    }
}

impl std::error::Error for UnknownWord {}

/// A number that stands for no value of an enumeration: it may be of a later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownNumber(pub u32);

impl fmt::Display for UnknownNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown number {}: it may be of a later version", self.0)
    }
}

impl std::error::Error for UnknownNumber {}

/// An enumeration whose values a section has as words: `word()`, [`std::fmt::Display`] and [`std::str::FromStr`] use the same table.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident $(($number:literal))? = $word:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$variant_doc])* $variant $(= $number)?,)* }

        impl $name {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value's word in a section.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::UnknownWord(word.to_owned())),
                }
            }
        }
    };
}

/// An enumeration whose values events have as numbers, with a value for the numbers of later minor versions: an event that
/// has one is not lost, and its number stays visible.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $number:literal $word:literal,)*
    }) => {
        $(#[$doc])*
        ///
        /// | number | word | value |
        /// | --- | --- | --- |
        $(#[doc = concat!("| ", $number, " | `", $word, "` | [`", stringify!($name), "::", stringify!($variant), "`] |")])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// The number of a later minor version, or 0 where there is no number.
            Unknown(u32),
        }

        impl $name {
            /// All values that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value's number in an event.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self { $(Self::$variant => $number,)* Self::Unknown(number) => number }
            }

            /// The value with this number, if this version knows it.
            #[must_use]
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// The value's word; `unknown` for a number that this version does not know.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* Self::Unknown(_) => "unknown" }
            }
        }

        impl From<u32> for $name {
            /// The value with this number, [`Self::Unknown`] if this version does not know it.
            fn from(number: u32) -> Self {
                Self::from_number(number).unwrap_or(Self::Unknown(number))
            }
        }

        impl std::fmt::Display for $name {
            /// The value's word; `unknown-<number>` for a number that this version does not know.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    Self::Unknown(number) => write!(f, "unknown-{number}"),
                    known => f.write_str(known.word()),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            /// The inverse of its [`Display`](std::fmt::Display).
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => word
                        .strip_prefix("unknown-")
                        .and_then(|number| number.parse().ok())
                        .map(Self::Unknown)
                        .ok_or_else(|| $crate::UnknownWord(word.to_owned())),
                }
            }
        }
    };
}
