//! Calls of `at(activity, hasFocus)`: exactly one each time an activity's window gains or loses focus.
//!
//! Android calls `onWindowFocusChanged` of the activity. Classes differ in which of them overrides it, and whether an
//! override calls `super`, but `at` must be called exactly once in any case. A call at the start of every override
//! runs once per level that calls `super`. A call in the lowest class only is missing where a lower class has no
//! override, and a call in the topmost class is missing where an override does not call `super`. So each override is
//! split in two:
//!
//! ```text
//! class Base extends Activity                       class Leaf extends Base
//!   onWindowFocusChanged(z)                           onWindowFocusChanged(z)
//!     at(this, z)                                       at(this, z)
//!     this.onWindowFocusChanged-Base(z)                 this.onWindowFocusChanged-Leaf(z)
//!   onWindowFocusChanged-Base(z)                      onWindowFocusChanged-Leaf(z)
//!     ... what was written, with its i and o            ... what was written, but
//!     super.onWindowFocusChanged(z)                     super.onWindowFocusChanged-Base(z)
//! ```
//!
//! Android's call runs the first part of the lowest override. Nothing else runs a first part, because every call of
//! `super` leads to a second part. This also holds for overrides that call `super` never or only sometimes. A class
//! without an override needs no change if a class above it was split, and the topmost app class gets both parts if it
//! has no override. The change of a class depends only on the classes above it, so a new subclass does not affect it,
//! and a library that was instrumented before is recognised by its second parts.
//!
//! The second part keeps the override's access flags and position in the file. Only its name changes; it contains the
//! class name, so that no other class can override it. Its id and its line in the map are those of
//! `onWindowFocusChanged`.

pub(crate) mod plan;
pub(crate) mod split;

use crate::class_facts::focus::NAME;

/// The part that gets the `i` and `o` of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The first part, before `at`, as in Matrix.
    First,
    /// The second part, which has the body, so that calls by `super` are traced too.
    Second,
}

/// The change of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Splits the override at this index; its calls of `super` lead to `above`, if given.
    Split { method: usize, part: String, above: Option<String>, traced: Part },
    /// Adds both parts to a class without an override, or a single method if `part` is `None`.
    Add { part: Option<String> },
}

/// Returns the name of the second part in the class with this internal name.
pub(crate) fn part_name(class: &str) -> String {
    format!("{NAME}-{}", class.replace('/', "-"))
}
