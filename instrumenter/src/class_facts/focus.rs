//! What a class has to do with `onWindowFocusChanged`.

use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::opcodes::{self, INVOKESPECIAL, Instruction};
use crate::error::Malformed;

pub(crate) const NAME: &str = "onWindowFocusChanged";
pub(crate) const DESCRIPTOR: &str = "(Z)V";

/// The facts about `onWindowFocusChanged` in a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FocusFacts {
    /// The override: its index among the methods, and its access flags.
    pub(crate) own: Option<(usize, u16)>,
    /// Whether a method of the class calls `super.onWindowFocusChanged`.
    pub(crate) calls_super: bool,
    /// The name of a second part from a previous run.
    pub(crate) part: Option<String>,
    /// Whether the class may be changed for focus calls.
    pub(crate) eligible: bool,
}

impl FocusFacts {
    pub(crate) fn scan(class: &ClassFile<'_>, eligible: bool) -> Result<Self, Malformed> {
        // An interface is not an activity, and 16 more constants must fit.
        let fits = class.access & access::INTERFACE == 0 && class.pool.count() < 0xFFF0;
        let mut facts = Self { eligible: eligible && fits, ..Self::default() };
        // Few classes contain the text; only those need a closer check.
        let [text] = class.pool.find_texts([NAME.as_bytes()]);
        let prefix = [NAME, "-"].concat();
        for (index, method) in class.methods.iter().enumerate() {
            if method.descriptor != DESCRIPTOR.as_bytes() {
                continue;
            }
            if method.name == NAME.as_bytes() && method.access & (access::STATIC | access::PRIVATE) == 0 {
                facts.own = Some((index, method.access));
            } else if method.name.starts_with(prefix.as_bytes()) {
                facts.part = Some(crate::class::text::decode(method.name).into_owned());
            }
        }
        if text.is_some() && facts.own.is_some() {
            facts.calls_super = class.methods.iter().any(|method| !calls_super(class, method).is_empty());
        }
        Ok(facts)
    }

    /// Returns whether a subclass may not override it.
    pub(crate) fn is_final(&self) -> bool {
        self.own.is_some_and(|(_, flags)| flags & access::FINAL != 0)
    }

    /// Returns the index of the override if it has code.
    pub(crate) fn overrides(&self) -> Option<usize> {
        self.own.filter(|(_, flags)| flags & (access::ABSTRACT | access::NATIVE) == 0).map(|(index, _)| index)
    }
}

/// Returns the positions of the operands of the calls of `super.onWindowFocusChanged`.
pub(crate) fn calls_super<'a>(class: &ClassFile<'a>, method: &Method<'a>) -> Vec<usize> {
    let Ok(Some(code)) = Code::for_method(class, method) else { return Vec::new() };
    let calls = opcodes::instructions(code.bytes).filter_map(Result::ok);
    let operand = |call: Instruction| {
        let member = class.pool.member(opcodes::u2_at(code.bytes, call.pc + 1).ok()?).ok()?;
        let wanted = member == (NAME.as_bytes(), DESCRIPTOR.as_bytes());
        wanted.then_some(code.at + call.pc as usize + 1)
    };
    calls.filter(|call| call.opcode == INVOKESPECIAL).filter_map(operand).collect()
}
