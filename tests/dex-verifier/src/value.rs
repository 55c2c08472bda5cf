//! What a register may hold, and what remains known where two paths meet.
//!
//! A 32-bit value is the set of types that it can be used as: the constant 0 can be anything, 200 anything but a byte and
//! a reference, a `short` is also an `int`. Where paths meet, the intersection remains, and an empty one is a conflict.
//! This gives the types of ART's `reg_type.h` and their merges without a table.

use std::fmt;

use crate::types::{TypeId, Types};

/// A set of uses of a 32-bit value.
pub(crate) type Uses = u8;

/// A null reference.
pub(crate) const NULL: Uses = 1;
/// A `boolean`.
pub(crate) const BOOLEAN: Uses = 2;
/// A `byte`.
pub(crate) const BYTE: Uses = 4;
/// A `char`.
pub(crate) const CHAR: Uses = 8;
/// A `short`.
pub(crate) const INT16: Uses = 16;
/// An `int`.
pub(crate) const INT: Uses = 32;
/// A `float`.
pub(crate) const FLOAT: Uses = 64;
/// Set of a 64-bit value that can be used as a `long`.
pub(crate) const LONG: Uses = 1;
/// Set of a 64-bit value that can be used as a `double`.
pub(crate) const DOUBLE: Uses = 2;

/// The content of one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// Never written.
    Undefined,
    /// Different on the paths that lead here: must not be used.
    Conflict,
    /// A 32-bit primitive, or null.
    Narrow(Uses),
    /// The lower half of a 64-bit value.
    Low(Uses),
    /// The upper half of a 64-bit value.
    High(Uses),
    /// An initialized reference.
    Reference(TypeId),
    /// The result of the `new-instance` at this pc, before its constructor ran.
    New(u32),
    /// `this` of a constructor, before the super constructor ran.
    UninitializedThis,
}

impl Value {
    pub(crate) const BOOLEAN: Self = Self::Narrow(BOOLEAN | BYTE | CHAR | INT16 | INT);
    pub(crate) const BYTE: Self = Self::Narrow(BYTE | INT16 | INT);
    pub(crate) const CHAR: Self = Self::Narrow(CHAR | INT);
    pub(crate) const INT16: Self = Self::Narrow(INT16 | INT);
    pub(crate) const INT: Self = Self::Narrow(INT);
    pub(crate) const FLOAT: Self = Self::Narrow(FLOAT);
    pub(crate) const NULL: Self = Self::Narrow(NULL);

    /// Returns the value of a 32-bit constant.
    pub(crate) fn constant(value: i64) -> Self {
        let mut uses = INT | FLOAT;
        if value == 0 {
            uses |= NULL;
        }
        if (0..=1).contains(&value) {
            uses |= BOOLEAN;
        }
        if (-128..=127).contains(&value) {
            uses |= BYTE;
        }
        if (-32_768..=32_767).contains(&value) {
            uses |= INT16;
        }
        if (0..=65_535).contains(&value) {
            uses |= CHAR;
        }
        Self::Narrow(uses)
    }

    /// Whether it can be used as the 32-bit primitive `use_as`.
    pub(crate) fn is(self, use_as: Uses) -> bool {
        matches!(self, Self::Narrow(uses) if uses & use_as != 0)
    }

    /// Whether it is certainly null.
    pub(crate) fn is_null(self) -> bool {
        self.is(NULL)
    }

    /// Whether it is null or a reference, initialized or not.
    pub(crate) fn is_reference(self) -> bool {
        self.is_null() || matches!(self, Self::Reference(_) | Self::New(_) | Self::UninitializedThis)
    }

    /// Whether it is an object whose constructor has not run yet.
    pub(crate) fn is_uninitialized(self) -> bool {
        matches!(self, Self::New(_) | Self::UninitializedThis)
    }

    /// Whether it is a 32-bit primitive.
    pub(crate) fn is_narrow(self) -> bool {
        matches!(self, Self::Narrow(uses) if uses != NULL)
    }

    /// Returns what is known where this value and `other` meet.
    pub(crate) fn merge(self, other: Self, types: &Types<'_>) -> Self {
        if self == other {
            return self;
        }
        let both = |a: Uses, b: Uses, make: fn(Uses) -> Self| {
            if a & b == 0 { Self::Conflict } else { make(a & b) }
        };
        match (self, other) {
            (Self::Narrow(a), Self::Narrow(b)) => both(a, b, Self::Narrow),
            (Self::Low(a), Self::Low(b)) => both(a, b, Self::Low),
            (Self::High(a), Self::High(b)) => both(a, b, Self::High),
            (Self::Reference(a), Self::Reference(b)) => Self::Reference(types.merge(a, b)),
            (Self::Reference(a), b) | (b, Self::Reference(a)) if b.is_null() => Self::Reference(a),
            _ => Self::Conflict,
        }
    }

    /// Returns the value with its name for messages.
    pub(crate) fn shown<'v>(self, types: &'v Types<'v>) -> Shown<'v> {
        Shown { value: self, types }
    }
}

/// A value to be printed.
pub(crate) struct Shown<'v> {
    value: Value,
    types: &'v Types<'v>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.value {
            Value::Undefined => "undefined",
            Value::Conflict => "conflict",
            Value::BOOLEAN => "boolean",
            Value::BYTE => "byte",
            Value::CHAR => "char",
            Value::INT16 => "short",
            Value::INT => "int",
            Value::FLOAT => "float",
            Value::NULL => "null",
            Value::Narrow(uses) if uses & NULL != 0 => "zero",
            Value::Narrow(_) => "constant",
            Value::Low(LONG) => "long",
            Value::Low(DOUBLE) => "double",
            Value::Low(_) => "wide constant",
            Value::High(_) => "upper half of a wide value",
            Value::Reference(id) => return out.write_str(&self.types.name(id)),
            Value::New(pc) => return write!(out, "uninitialized object of {pc:#06x}"),
            Value::UninitializedThis => "uninitialized this",
        };
        out.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_can_be_what_their_range_allows() {
        assert_eq!(Value::constant(0), Value::Narrow(127));
        assert!(Value::constant(1).is(BOOLEAN) && !Value::constant(1).is_null());
        assert!(!Value::constant(2).is(BOOLEAN) && Value::constant(2).is(BYTE));
        assert!(!Value::constant(128).is(BYTE) && Value::constant(128).is(INT16));
        assert!(!Value::constant(-1).is(CHAR) && Value::constant(-1).is(BYTE));
        assert!(Value::constant(40_000).is(CHAR) && !Value::constant(40_000).is(INT16));
        assert!(!Value::constant(70_000).is(CHAR) && Value::constant(70_000).is(FLOAT));
    }

    #[test]
    fn merges_keep_what_both_paths_allow() {
        let types = Types::empty();
        let merge = |a: Value, b: Value| {
            assert_eq!(a.merge(b, &types), b.merge(a, &types));
            a.merge(b, &types)
        };
        assert_eq!(merge(Value::BOOLEAN, Value::BYTE), Value::BYTE);
        assert_eq!(merge(Value::BYTE, Value::CHAR), Value::INT);
        assert_eq!(merge(Value::INT, Value::FLOAT), Value::Conflict);
        assert_eq!(merge(Value::constant(5), Value::FLOAT), Value::FLOAT);
        assert_eq!(
            merge(Value::constant(0), Value::Reference(TypeId::OBJECT)),
            Value::Reference(TypeId::OBJECT)
        );
        assert_eq!(merge(Value::constant(1), Value::Reference(TypeId::OBJECT)), Value::Conflict);
        assert_eq!(merge(Value::Low(LONG | DOUBLE), Value::Low(LONG)), Value::Low(LONG));
        assert_eq!(merge(Value::Low(DOUBLE), Value::Low(LONG)), Value::Conflict);
        assert_eq!(merge(Value::New(3), Value::New(7)), Value::Conflict);
        assert_eq!(merge(Value::New(3), Value::Reference(TypeId::OBJECT)), Value::Conflict);
        assert_eq!(merge(Value::Undefined, Value::INT), Value::Conflict);
    }
}
