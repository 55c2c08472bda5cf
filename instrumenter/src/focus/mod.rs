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

use crate::class::class_file::{ClassFile, access};
use crate::class::code::Code;
use crate::class::opcodes::{self, INVOKESPECIAL};
use crate::error::Malformed;

pub(crate) const NAME: &str = "onWindowFocusChanged";
pub(crate) const DESCRIPTOR: &str = "(Z)V";

const STATIC: u16 = 0x0008;
const FINAL: u16 = 0x0010;
const PRIVATE: u16 = 0x0002;

/// What there is about focus in a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FocusFacts {
    /// The override: its place among the methods, and its access flags.
    pub(crate) own: Option<(usize, u16)>,
    /// Whether a method of the class calls `super.onWindowFocusChanged`.
    pub(crate) calls_super: bool,
    /// The name of a second part that the class has from an earlier run.
    pub(crate) part: Option<String>,
    /// Whether the class may be changed for focus's sake.
    pub(crate) eligible: bool,
}

impl FocusFacts {
    pub(crate) fn of(class: &ClassFile<'_>, eligible: bool) -> Result<Self, Malformed> {
        // An interface is no activity, and 16 constants more must find room.
        const INTERFACE: u16 = 0x0200;
        let fits = class.access & INTERFACE == 0 && class.pool.count() < 0xFFF0;
        let mut facts = Self { eligible: eligible && fits, ..Self::default() };
        // Nearly no class has the text, and the rest of the work is for those that do.
        let [text] = class.pool.find_texts([NAME.as_bytes()]);
        let prefix = [NAME, "-"].concat();
        for (index, method) in class.methods.iter().enumerate() {
            if method.descriptor != DESCRIPTOR.as_bytes() {
                continue;
            }
            if method.name == NAME.as_bytes() && method.access & (STATIC | PRIVATE) == 0 {
                facts.own = Some((index, method.access));
            } else if method.name.starts_with(prefix.as_bytes()) {
                facts.part = Some(crate::class::text::decode(method.name).into_owned());
            }
        }
        if text.is_some() && facts.own.is_some() {
            facts.calls_super =
                class.methods.iter().any(|method| calls_super(class, method).next().is_some());
        }
        Ok(facts)
    }

    /// Whether a class below may not override.
    pub(crate) fn is_final(&self) -> bool {
        self.own.is_some_and(|(_, access)| access & FINAL != 0)
    }

    /// Whether there is an override with code.
    pub(crate) fn overrides(&self) -> Option<usize> {
        self.own.filter(|(_, flags)| flags & (access::ABSTRACT | access::NATIVE) == 0).map(|(index, _)| index)
    }
}

/// Where in the class file the operands of the calls of `super.onWindowFocusChanged` stand.
fn calls_super<'a>(
    class: &'a ClassFile<'a>,
    method: &crate::class::class_file::Method<'a>,
) -> impl Iterator<Item = usize> + 'a {
    let code = Code::of(class, method).ok().flatten();
    let found = code.into_iter().flat_map(move |code| {
        let calls = opcodes::instructions(code.bytes).filter_map(Result::ok);
        calls.filter(|call| call.opcode == INVOKESPECIAL).filter_map(move |call| {
            let member = class.pool.member(opcodes::u2_at(code.bytes, call.pc + 1).ok()?).ok()?;
            let wanted = member == (NAME.as_bytes(), DESCRIPTOR.as_bytes());
            wanted.then_some(code.at + call.pc as usize + 1)
        })
    });
    // Collected, because the code is a value of this function.
    found.collect::<Vec<_>>().into_iter()
}

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
