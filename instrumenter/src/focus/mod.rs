//! `at(activity, hasFocus)`: once for each time that an activity's window gains or loses focus.
//!
//! Android calls `onWindowFocusChanged` of the activity. Which class's that is, and whether it calls
//! on to those of its super classes, differs; the call of `at` must be made exactly once, whatever
//! they do. A call put at the start of every override runs once for each level that calls `super`; a
//! call in the lowest level only is missing where a lower class has no override; a call in the
//! topmost is missing where an override does not call `super`. So an override is split in two:
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
//! Android's call reaches the first part of the lowest override, and nothing else reaches a first
//! part: every call of `super` leads into a second one. That holds for an override that does not call
//! `super`, or only sometimes; a class without an override needs nothing if one above it was split,
//! and the topmost class that is ours gets both parts if it has no override. What is done to a class
//! depends on the classes above it alone, so a new subclass changes nothing in it, and a library that
//! was instrumented before is recognised by its second parts.
//!
//! The second part keeps the access of the override and its place in the file; only its name changes,
//! which has the class's in it so that no other class can override it. Its id and its line in the map
//! are those of `onWindowFocusChanged`.

pub(crate) mod plan;
pub(crate) mod split;

use crate::class_facts::focus::NAME;

/// Which of the two parts gets the `i` and `o` of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The first, which is called by Android: before `at`, as in Matrix.
    First,
    /// The second, which has the body: also where only `super` calls it.
    Second,
}

/// What is done to a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The override at this place is split; its calls of `super` lead to `above` if that is given.
    Split { method: usize, part: String, above: Option<String>, traced: Part },
    /// There is none: both parts are added, or with no name for the second one method.
    Add { part: Option<String> },
}

/// The name of the second part in the class of this internal name.
pub(crate) fn part_name(class: &str) -> String {
    format!("{NAME}-{}", class.replace('/', "-"))
}
